// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how Python's arrays are looked at without copying: through the buffer protocol or DLPack.
// Leaves what the library makes of their strides to memory_format.h.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cubejit/dtype.h"

namespace cubejit::python {

/// Which elements an array may have: those of convolutions, or of kernels.
enum class Elements : std::uint8_t { kFloats, kFloatsAndIntegers };

/// An array of somebody else's. Must be destroyed with the GIL held.
struct TensorView {
  std::string name;  ///< for messages
  std::byte* data = nullptr;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape, strides;  ///< in elements
  bool writable = false;
  std::shared_ptr<void> owner;  ///< keeps the memory

  /// At most 2^47, where no memory can be (broadcast views may claim more).
  std::int64_t elements() const;
};

/// Views `object`: an array with the buffer protocol (NumPy, memoryview), with __dlpack__ (PyTorch, CuPy on the CPU ...), or a
/// capsule named "dltensor", which is used up. Throws TypeError for anything else, other element types, other devices.
TensorView viewOf(const char* name, pybind11::handle object, Elements elements = Elements::kFloats);

}  // namespace cubejit::python
