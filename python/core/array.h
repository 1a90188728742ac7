// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what results are before a framework takes them over: memory with a shape, handed on through DLPack or as a buffer.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cubejit/dtype.h"

namespace cubejit::python {

/// 64-byte aligned memory, not initialised. Throws std::bad_alloc.
std::shared_ptr<std::byte> allocate(std::size_t bytes);

/// Immutable but for its elements; frameworks that took it over share the memory.
struct Array {
  std::shared_ptr<std::byte> memory;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape, strides;  ///< in elements
};

/// NumPy's name of a type, bfloat16 too.
const char* nameOf(DType type);

/// The class cubejit.Array.
void bindArray(pybind11::module_& module);

}  // namespace cubejit::python
