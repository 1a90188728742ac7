// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing: the other documented spelling of tiling/conv_backprop/conv3d_bp_filter_tiling_base.h.
#pragma once

#include "tiling/conv_backprop/conv3d_bp_filter_tiling_base.h"
