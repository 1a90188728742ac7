// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the name that device code creates an input gradient by. C++17.
#pragma once

#include "lib/conv_backprop/conv3d_bp_input_intf.h"

namespace ConvBackpropApi {

template <class WEIGHT_TYPE, class INPUT_TYPE, class GRAD_OUTPUT_TYPE, class GRAD_INPUT_TYPE>
using Conv3DBackpropInput =
    Conv3DBpInputIntf<Conv3DBpInputCfg<WEIGHT_TYPE, INPUT_TYPE, GRAD_OUTPUT_TYPE, GRAD_INPUT_TYPE, CONV3D_CFG_DEFAULT>,
                      Conv3DBpInputImpl>;

}  // namespace ConvBackpropApi

namespace ConvBackpropInputFunc {
enum class IterateOrder { ORDER_M = 0, ORDER_N, UNDEF };
}
