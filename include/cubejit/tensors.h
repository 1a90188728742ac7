// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tensors are handed over: as pointers to memory in the formats the problem gives them.
#pragma once

namespace cubejit {

/// The caller's tensors. Only those a pass needs must be set: y reads x and w; dx reads dy and w; dw reads dy and x; db reads dy.
/// x [n][cin][in], y and dy [n][cout][out]; w [cout][cin/groups][kernel] (transposed: [cin][cout/groups][kernel]); dx like x, dw like
/// w, db [cout]; each of the type and in the layout of formatOf(problem, tensor). Results are overwritten, padding of blocked
/// layouts with zeros, whatever that of z holds. Post-ops of y read b [cout] and z, which is like y and must not be y
/// itself; of an activation backward passes read y. Alignment to an element is enough; 64 bytes are faster.
struct Tensors {
  const void* dy = nullptr;
  const void* x = nullptr;
  const void* w = nullptr;
  void* dx = nullptr;
  void* dw = nullptr;
  void* db = nullptr;
  /// What Executable::packWeights() made of w. Given, it is read in place of w, which may be null.
  const void* packedW = nullptr;
  void* y = nullptr;
  const void* b = nullptr;
  const void* z = nullptr;
};

}  // namespace cubejit
