// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the setters of an input gradient's tiling. Leaves the tiling itself to Conv3DBpInputTiling. C++17.
#pragma once

#include "tiling/conv_backprop/conv3d_bp_tiling_base.h"

namespace ConvBackpropApi {

/// A shape setter returns false and changes nothing if n, cin or cout was set to another value before.
class Conv3DBpInputTilingBase : public Conv3DBpTilingBase {
 public:
  Conv3DBpInputTilingBase() { defaults(); }
  explicit Conv3DBpInputTilingBase(const platform_ascendc::PlatformAscendC& platform) : Conv3DBpTilingBase(platform) {
    defaults();
  }
  explicit Conv3DBpInputTilingBase(const PlatformInfo& info) : Conv3DBpTilingBase(info) { defaults(); }
  virtual ~Conv3DBpInputTilingBase() = default;

  bool SetWeightShape(int64_t cout, int64_t cin, int64_t d, int64_t h, int64_t w) {
    if (!agrees(request_.cout, cout) || !agrees(request_.cin, cin)) return false;
    request_.cout = cout;
    request_.cin = cin;
    request_.kernel = {d, h, w};
    return true;
  }
  /// Says that this is the gradient of a convolution's input; without it, it is a transposed convolution whose result's extents
  /// are inferred.
  bool SetInputShape(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
    if (!agrees(request_.n, n) || !agrees(request_.cin, c)) return false;
    request_.n = n;
    request_.cin = c;
    request_.in = {d, h, w};
    request_.transpose = false;
    return true;
  }
  bool SetGradOutputShape(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
    if (!agrees(request_.n, n) || !agrees(request_.cout, c)) return false;
    request_.n = n;
    request_.cout = c;
    request_.out = {d, h, w};
    return true;
  }
  /// Only of a transposed convolution: false after SetInputShape.
  bool SetOutputPadding(int64_t d, int64_t h, int64_t w) {
    if (!request_.transpose) return false;
    request_.outputPadding = {d, h, w};
    return true;
  }
  /// Beyond the documented interface.
  void SetBackpropPadding(int64_t up, int64_t down, int64_t left, int64_t right) {
    request_.backpropPads = {up, down, left, right};
  }

 private:
  static bool agrees(int64_t set, int64_t given) { return set <= 0 || set == given; }
  void defaults() {
    request_.transpose = true;
    request_.input = {TPosition::CO1, ConvFormat::NCDHW, ConvDtype::FLOAT16};
  }
};

}  // namespace ConvBackpropApi
