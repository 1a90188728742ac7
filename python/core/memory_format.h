// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which TensorFormat an array's strides are, and makes results of the order their operands have.
#pragma once

#include <array>
#include <memory>

#include "cubejit/problem.h"
#include "python/core/array.h"
#include "python/core/tensor_view.h"

namespace cubejit::python {

/// An operand as the library takes it. `copy` is set if its strides cannot be expressed (negative ones) and it was copied.
struct Operand {
  const void* data = nullptr;
  TensorFormat format;
  std::shared_ptr<std::byte> copy;
};

/// The operand behind a view of 3 to 5 axes (batch or outer channels, channels, spatial). HF32 is a matter of `math`.
/// Throws Failure if it had to be copied and the view is a description without memory.
Operand operandOf(const TensorView& view, DType dtype);

/// The dense layout of a view: plain, channels-last, or none.
enum class Density { kNone, kPlain, kChannelsLast };
Density densityOf(const TensorView& view);
/// Whether it is dense in that order, plain or channels-last; it may be in both.
bool liesIn(const TensorView& view, Layout layout);

/// New memory with the shape of `like`, plain or channels-last as given.
Array resultLike(const TensorView& like, Layout layout);

/// The elements in row-major order, copied unless they are in it.
std::shared_ptr<std::byte> denseCopy(const TensorView& view);

}  // namespace cubejit::python
