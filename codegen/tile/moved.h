// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how addresses are computed that nobody reads yet.
#pragma once

#include <cstdint>

namespace cubejit {

/// An address is a number until a kernel is called with it: what a call moves by may lie before the buffer, and an empty one has no memory.
template <class Byte>
Byte* moved(Byte* at, std::int64_t bytes) {
  return reinterpret_cast<Byte*>(reinterpret_cast<std::intptr_t>(at) + bytes);
}

}  // namespace cubejit
