// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the memory orders of activation tensors. Weights are always O,I/g,D,H,W (plain, dense).
#pragma once

#include <cstdint>

namespace cubejit {

/// Memory order of x, y, dx, dy. 1D and 2D tensors are the 3D ones with D = H = 1.
enum class Layout : std::uint8_t {
  kNcdhw,  ///< plain: N, C, D, H, W with W fastest (NCL, NCHW, NCDHW)
  kNdhwc   ///< channels-last: N, D, H, W, C with C fastest (NLC, NHWC, NDHWC)
};

constexpr const char* toString(Layout layout) { return layout == Layout::kNcdhw ? "ncdhw" : "ndhwc"; }

}  // namespace cubejit
