// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what registering a tiling class for an operator does here: nothing, a kernel names its struct itself (kernel_tiling.h). Page
// "TilingData Structure Registration" of the Ascend C API. C++11.
#pragma once

/// `class_name` must be defined before it; the two documented classes are in tiling/conv_backprop/.
#define REGISTER_TILING_DATA_CLASS(op_type, class_name) \
  static_assert(sizeof(class_name) > 0, #class_name ", registered for " #op_type ", must be defined");
/// Classes of one's own are structs here.
#define BEGIN_TILING_DATA_DEF(class_name)                          \
  static_assert(false, "BEGIN_TILING_DATA_DEF: write " #class_name \
                       " as a plain struct, or use the classes of tiling/conv_backprop/")
