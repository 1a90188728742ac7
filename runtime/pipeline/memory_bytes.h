// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what counts as the memory of an executable: its programs in every form that is kept, and its code.
#pragma once

#include <cstddef>

#include "cubejit/cubejit.hpp"

namespace cubejit {

/// What Executable::memoryBytes() says.
std::size_t memoryBytesOf(const Executable::State& state);

}  // namespace cubejit
