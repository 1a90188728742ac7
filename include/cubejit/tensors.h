// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tensors are handed over: as pointers to dense f32 memory in the problem's layout.
#pragma once

namespace cubejit {

/// The caller's tensors. Only those a gradient needs must be set: dx reads dy and w; dw reads dy and x; db reads dy.
/// x [n][cin][in], dy [n][cout][out] in the problem's layout; w [cout][cin/groups][kernel] (transposed: [cin][cout/groups][kernel]);
/// dx like x, dw like w, db [cout]. Results are overwritten. 4-byte alignment is enough; 64 is faster.
struct Tensors {
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* w = nullptr;
  float* dx = nullptr;
  float* dw = nullptr;
  float* db = nullptr;
};

}  // namespace cubejit
