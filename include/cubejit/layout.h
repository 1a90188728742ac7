// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the names of memory orders. Leaves what they mean to index_map.h.
#pragma once

#include <cstdint>

namespace cubejit {

/// Memory order of a tensor. 1D and 2D tensors are the 3D ones with D = H = 1, so that NC1HWC0 is NDC1HWC0 and FRACTAL_Z is
/// FRACTAL_Z_3D. Weights read N as the outer and C as the inner channel: plain is O,I/g,D,H,W, channels-last O,D,H,W,I/g
/// (transposed convolutions: I,O/g).
enum class Layout : std::uint8_t {
  kNcdhw,      ///< plain: N, C, D, H, W with W fastest (NCL, NCHW, NCDHW)
  kNdhwc,      ///< channels-last: N, D, H, W, C with C fastest (NLC, NHWC, NDHWC)
  kNdc1hwc0,   ///< activations: N, D, C1, H, W, C0; C0 = 32 bytes of elements, missing channels stored as zero
  kFractalZ3d  ///< weights: (G, D, C1, H, W), N1, 16, C0; see index_map.h
};

constexpr const char* toString(Layout layout) {
  return layout == Layout::kNcdhw      ? "ncdhw"
         : layout == Layout::kNdhwc    ? "ndhwc"
         : layout == Layout::kNdc1hwc0 ? "ndc1hwc0"
                                       : "fractal_z_3d";
}

}  // namespace cubejit
