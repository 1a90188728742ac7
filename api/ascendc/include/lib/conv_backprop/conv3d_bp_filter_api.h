// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the name that device code creates a filter gradient by. C++17.
#pragma once

#include "lib/conv_backprop/conv3d_bp_filter_intf.h"

namespace ConvBackpropApi {

template <class INPUT_TYPE, class WEIGHT_TYPE, class GRAD_OUTPUT_TYPE, class GRAD_WEIGHT_TYPE>
using Conv3DBackpropFilter =
    Conv3DBpFilterIntf<Conv3DBpFilterCfg<INPUT_TYPE, WEIGHT_TYPE, GRAD_OUTPUT_TYPE, GRAD_WEIGHT_TYPE>,
                       Conv3DBpFilterImpl>;

}  // namespace ConvBackpropApi
