// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the configuration of a filter gradient's class: its operands, and which of them can be combined. C++17.
#pragma once

#include "lib/conv_backprop/common/conv3d_bp_config_base.h"

namespace ConvBackpropApi {

template <class INPUT_TYPE, class WEIGHT_TYPE, class GRAD_OUTPUT_TYPE, class GRAD_WEIGHT_TYPE>
struct Conv3DBpFilterCfg : public ConvBpContext<INPUT_TYPE, WEIGHT_TYPE, GRAD_OUTPUT_TYPE, GRAD_WEIGHT_TYPE> {
  static_assert(INPUT_TYPE::format == ConvCommonApi::ConvFormat::NDC1HWC0, "input must be ConvFormat::NDC1HWC0");
  static_assert(GRAD_WEIGHT_TYPE::format == ConvCommonApi::ConvFormat::FRACTAL_Z_3D,
                "gradWeight must be ConvFormat::FRACTAL_Z_3D");
  static_assert(std::is_same_v<typename GRAD_WEIGHT_TYPE::Type, float>,
                "gradWeight must be float: parts of the sum are added in memory");
};

}  // namespace ConvBackpropApi
