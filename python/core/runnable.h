// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a compiled layer is handed to the package's other module, which is built against PyTorch: pointers and numbers, no class.
#pragma once

namespace cubejit::python {

/// Where tensors lie, of the types, shapes and strides that the layer was compiled for; null: not there.
struct Addresses {
  const void *dy, *x, *w;
  void *dx, *dw, *db, *y;
  const void *b, *z;
};

/// A layer, and how to run it, by many threads at once and without the GIL.
struct Runnable {
  const void* layer;
  /// On so many threads, 0 for the session's number. Returns whether it ran.
  bool (*run)(const void* layer, const Addresses& tensors, int threads) noexcept;
  /// Frees it. Called once, when no thread runs it any more.
  void (*release)(const Runnable* runnable) noexcept;
};

}  // namespace cubejit::python
