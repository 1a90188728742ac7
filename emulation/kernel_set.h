// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the units call kernels: by number, whatever made them callable. Leaves making them to the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cubejit/kernel_args.h"

namespace cubejit {

struct KernelSet {
  std::vector<KernelFunction> functions;  ///< empty: they are interpreted
  /// Called where there are no functions.
  void (*interpret)(const void* user, std::size_t kernel, const KernelArgs& args) = nullptr;
  const void* user = nullptr;

  void call(std::size_t kernel, const KernelArgs& args) const {
    if (kernel < functions.size())
      functions[kernel](&args);
    else
      interpret(user, kernel, args);
  }
};

/// A kernel's arguments: `repeat` times from `a` to `c`, each so many bytes after the last.
inline KernelArgs movedBy(const void* a, void* c, std::int64_t repeat, std::int64_t aRepeat, std::int64_t cRepeat) {
  KernelArgs args;
  args.a = a;
  args.c = c;
  args.repeat = repeat;
  args.aRepeat = aRepeat;
  args.cRepeat = cRepeat;
  return args;
}

}  // namespace cubejit
