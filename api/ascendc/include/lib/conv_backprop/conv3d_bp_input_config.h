// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the configuration of an input gradient's class: its operands, and which of them can be combined. C++17.
#pragma once

#include "lib/conv_backprop/common/conv3d_bp_config_base.h"

namespace ConvBackpropApi {

template <class WEIGHT_TYPE, class INPUT_TYPE, class GRAD_OUTPUT_TYPE, class GRAD_INPUT_TYPE,
          const Conv3dConfig& CONV3D_CONFIG = CONV3D_CFG_DEFAULT>
struct Conv3DBpInputCfg : public ConvBpContext<WEIGHT_TYPE, INPUT_TYPE, GRAD_OUTPUT_TYPE, GRAD_INPUT_TYPE> {
  constexpr static Conv3dConfig conv3dConfig = CONV3D_CONFIG;

  static_assert(WEIGHT_TYPE::format == ConvCommonApi::ConvFormat::FRACTAL_Z_3D,
                "weight must be ConvFormat::FRACTAL_Z_3D");
  static_assert(GRAD_INPUT_TYPE::format == ConvCommonApi::ConvFormat::NDC1HWC0 ||
                    GRAD_INPUT_TYPE::format == ConvCommonApi::ConvFormat::NCDHW,
                "gradInput must be ConvFormat::NDC1HWC0 or ConvFormat::NCDHW");
  static_assert(std::is_same_v<typename GRAD_INPUT_TYPE::Type, typename WEIGHT_TYPE::Type> ||
                    std::is_same_v<typename GRAD_INPUT_TYPE::Type, float>,
                "gradInput must have the type of the operands, or float");
};

}  // namespace ConvBackpropApi
