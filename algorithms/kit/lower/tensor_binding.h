// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which of a convolution's tensors the inputs and outputs of a program are: those of their names.
#pragma once

#include <iterator>
#include <optional>
#include <vector>

#include "codegen/tile/caller_buffers.h"
#include "codegen/tile/program.h"
#include "cubejit/problem.h"
#include "cubejit/tensors.h"

namespace cubejit {

/// Inputs and outputs with tensors' names have the elements that these have in the problem.
inline void setElements(TileProgram& program, const Problem& problem) {
  for (Buffer& buffer : program.buffers) {
    const auto tensor = tensorNamed(buffer.boundName());
    if (tensor) buffer.element = storedElement(formatOf(problem, *tensor).dtype);
  }
}

/// Immutable. An input or output that has no tensor's name is bound to null.
class TensorBinding {
 public:
  TensorBinding() = default;
  explicit TensorBinding(const TileProgram& program) {
    for (const Buffer& buffer : program.buffers) {
      if (buffer.isCallers()) tensors_.push_back(tensorNamed(buffer.name));
    }
  }

  CallerBuffers bind(const Tensors& tensors) const {
    CallerBuffers callers;
    callers.reserve(tensors_.size());
    for (const auto tensor : tensors_) callers.push_back(tensor ? address(tensors, *tensor) : nullptr);
    return callers;
  }

 private:
  static void* address(const Tensors& t, TensorId tensor) {
    const void* const all[] = {t.dy, t.x, t.w, t.dx, t.dw, t.db, t.y, t.b, t.z};
    static_assert(std::size(all) == kTensors);
    return const_cast<void*>(all[static_cast<std::size_t>(tensor)]);
  }

  std::vector<std::optional<TensorId>> tensors_;
};

}  // namespace cubejit
