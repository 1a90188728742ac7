// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where planning and lowering give a problem up: what they enumerate has bounds, so that neither takes time or memory without end.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace cubejit {

/// What withoutThrowing() makes kLimitExceeded of.
class WorkLimitError : public std::exception {
 public:
  explicit WorkLimitError(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

/// Steps of all axes, and segments of all lists, that a program may have: each takes a tenth of a microsecond and up to 200 bytes.
inline constexpr std::int64_t kMostSteps = 1 << 20;
/// While one lives, programs that its thread assembles may have at most so many steps, and calls so many variants: for who would rather have another plan.
class FewerSteps {
 public:
  explicit FewerSteps(std::int64_t most) : before_(most_) { most_ = most; }
  ~FewerSteps() { most_ = before_; }
  FewerSteps(const FewerSteps&) = delete;
  FewerSteps& operator=(const FewerSteps&) = delete;

  /// What holds for the thread.
  static std::int64_t most() { return most_; }

 private:
  static inline thread_local std::int64_t most_ = kMostSteps;
  std::int64_t before_;
};

/// Segments that are listed for all variants of calls, also where lists are the same, for each step that a program may have.
inline constexpr std::int64_t kMostListed = 8;
/// Pairs of a block and a tap that are looked at along an axis, each in a few nanoseconds.
inline constexpr std::int64_t kMostBlockTaps = 1 << 24;
/// Kernel positions of a convolution, which every candidate's cost looks at.
inline constexpr std::int64_t kMostTaps = 1 << 14;

/// Ends the work if there is more than so much of it.
inline void limitWork(double amount, std::int64_t most, const char* of) {
  if (amount <= static_cast<double>(most)) return;
  throw WorkLimitError("a program may have at most " + std::to_string(most) + " " + of + ", this one has " +
                       (amount < 9e18 ? std::to_string(static_cast<std::int64_t>(amount)) : "more than 9e18") +
                       "; give a call fewer images, fewer channels, a smaller kernel or a part of the output");
}

}  // namespace cubejit
