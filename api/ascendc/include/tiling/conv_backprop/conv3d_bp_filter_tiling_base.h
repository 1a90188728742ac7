// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the setters of a filter gradient's tiling. Leaves the tiling itself to Conv3dBpFilterTiling. C++17.
#pragma once

#include "tiling/conv_backprop/conv3d_bp_tiling_base.h"

namespace ConvBackpropApi {

/// The last value set counts.
class Conv3dBpFilterTilingBase : public Conv3DBpTilingBase {
 public:
  Conv3dBpFilterTilingBase() { defaults(); }
  explicit Conv3dBpFilterTilingBase(const platform_ascendc::PlatformAscendC& platform) : Conv3DBpTilingBase(platform) {
    defaults();
  }
  explicit Conv3dBpFilterTilingBase(const PlatformInfo& info) : Conv3DBpTilingBase(info) { defaults(); }
  virtual ~Conv3dBpFilterTilingBase() = default;

  void SetWeightShape(int64_t cout, int64_t cin, int64_t d, int64_t h, int64_t w) {
    request_.cout = cout;
    request_.cin = cin;
    request_.kernel = {d, h, w};
  }
  void SetInputShape(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
    request_.n = n;
    request_.cin = c;
    request_.in = {d, h, w};
  }
  void SetGradOutputShape(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
    request_.n = n;
    request_.cout = c;
    request_.out = {d, h, w};
  }

 private:
  void defaults() { request_.gradOutput.position = TPosition::CO1; }
};

}  // namespace ConvBackpropApi
