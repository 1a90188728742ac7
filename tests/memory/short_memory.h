// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tests take memory away: this process' malloc() and its kin give what is granted, and nothing after that.
#pragma once

#include <cstdint>

namespace cubejit {

enum class Shortage : std::uint8_t { kStays, kPasses };

/// While it lives, allocations of all threads fail once `granted` have been given, or, if it passes, one does. One at a time.
class ShortMemory {
 public:
  explicit ShortMemory(std::int64_t granted, Shortage shortage = Shortage::kStays);
  ~ShortMemory();
  ShortMemory(const ShortMemory&) = delete;
  ShortMemory& operator=(const ShortMemory&) = delete;
};

/// Allocations that were asked for while the last ShortMemory lived.
std::int64_t allocationsAsked();

}  // namespace cubejit
