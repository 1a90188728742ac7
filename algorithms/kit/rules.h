// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a broken rule is said: with its values and a fix.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cubejit/microkernel_registers.h"

namespace cubejit {

struct TensorView;

/// Collects the rules that a plan breaks.
class Rules {
 public:
  /// The message may be a function; it is only made when the rule is broken: a search checks thousands of plans.
  template <class Message>
  void require(bool holds, const Message& message) {
    if (holds) return;
    if constexpr (std::is_invocable_v<Message>)
      broken_.push_back(message());
    else
      broken_.push_back(message);
  }
  void positive(const char* field, std::int64_t value) {
    require(value >= 1, [&] { return std::string(field) + " = " + std::to_string(value) + " must be at least 1"; });
  }
  std::vector<std::string> take() { return std::move(broken_); }

 private:
  std::vector<std::string> broken_;
};

/// "what: needs 33, there are 32; fix".
std::string needsMore(const char* what, std::int64_t needed, std::int64_t available, const char* fix);

/// A microkernel that would need more vector registers than the ISA has. `sums`: how fields of the plan make its accumulators.
void requireRegisters(Rules& rules, const MicrokernelRegisters& needs, const HostIsa& isa, const char* sums);

/// Blocks that an axis may be cut into at a level: each is a step of a program.
inline constexpr std::int64_t kMostBlocks = std::int64_t{1} << 16;

/// `extent` positions are cut into at most kMostBlocks blocks of `each`. `fix`: what to change.
void requireFewBlocks(Rules& rules, const char* what, std::int64_t extent, std::int64_t each, const char* fix);

/// Offsets inside a tile are 32-bit displacements in code.
void requireReach(Rules& rules, const char* what, std::int64_t bytes);

/// Blocks of channels of a blocked tensor are not cut.
void requireWholeBlocks(Rules& rules, const TensorView& tensor, bool cut, std::int64_t each, const char* what);

}  // namespace cubejit
