// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the documented class that tiles an input gradient. The tiling is cubejit's planner's own choice. C++17.
#pragma once

#include "tiling/conv_backprop/conv3d_bp_input_tiling_base.h"

namespace ConvBackpropApi {

/// Set the shapes, types and attributes, then GetTiling; it may be repeated.
class Conv3DBpInputTiling : public Conv3DBpInputTilingBase {
 public:
  using Conv3DBpInputTilingBase::Conv3DBpInputTilingBase;

  /// 0, or -1 with every broken rule in cubejit_last_error(); then `tiling` is not touched.
  int64_t GetTiling(optiling::Conv3DBackpropInputTilingData& tiling) {
    return cubejit::ascendc::fillInputTiling(request_, tiling.conv3DDxTiling.plain());
  }
  int64_t GetTiling(AscendC::tiling::Conv3DBackpropInputTilingData& tiling) {
    return cubejit::ascendc::fillInputTiling(request_, tiling.conv3DDxTiling);
  }
};
using Conv3dBpInputTiling = Conv3DBpInputTiling;

}  // namespace ConvBackpropApi

// Some pages of the documentation qualify the class with these.
namespace ConvCommonApi {
using ConvBackpropApi::Conv3DBpInputTiling;
}
namespace Convolution3DBackprop {
using ConvBackpropApi::Conv3DBpInputTiling;
}
