// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the documented class that tiles a filter gradient. The tiling is cubejit's planner's own choice. C++17.
#pragma once

#include "tiling/conv_backprop/conv3d_bp_filter_tiling_base.h"

namespace ConvBackpropApi {

/// Set the shapes, types and attributes, then GetTiling; it may be repeated.
class Conv3dBpFilterTiling : public Conv3dBpFilterTilingBase {
 public:
  using Conv3dBpFilterTilingBase::Conv3dBpFilterTilingBase;

  /// 0, or -1 with every broken rule in cubejit_last_error(); then `tiling` is not touched.
  int64_t GetTiling(optiling::Conv3DBackpropFilterTilingData& tiling) {
    AscendC::tiling::Conv3DBackpropFilterTilingData plain;
    const int64_t status = cubejit::ascendc::fillFilterTiling(request_, plain);
    if (status != 0) return status;
    tiling.params.plain() = plain.params;
    tiling.dwTiling.plain() = plain.dwTiling;
    tiling.basicBlockTiling.plain() = plain.basicBlockTiling;
    return 0;
  }
  int64_t GetTiling(AscendC::tiling::Conv3DBackpropFilterTilingData& tiling) {
    return cubejit::ascendc::fillFilterTiling(request_, tiling);
  }
};
using Conv3DBpFilterTiling = Conv3dBpFilterTiling;
using Conv3DBpFilterTilingBase = Conv3dBpFilterTilingBase;

}  // namespace ConvBackpropApi

// Some pages of the documentation qualify the class with these.
namespace ConvCommonApi {
using ConvBackpropApi::Conv3dBpFilterTiling;
using ConvBackpropApi::Conv3DBpFilterTiling;
}  // namespace ConvCommonApi
namespace Convolution3DBackprop {
using ConvBackpropApi::Conv3dBpFilterTiling;
using ConvBackpropApi::Conv3DBpFilterTiling;
}  // namespace Convolution3DBackprop
