// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is digested: numbers that mean something to a machine, never texts or names, so that renaming changes no digest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "cubejit/problem.h"

namespace cubejit::digest {

/// FNV-1a, 64 bits.
class Hash {
 public:
  void bytes(const void* data, std::size_t count) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < count; ++i) value_ = (value_ ^ p[i]) * 1099511628211ULL;
  }
  template <class T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes(&value, sizeof value);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037ULL;
};

inline constexpr Pass kGradients[] = {Pass::kDx, Pass::kDw, Pass::kDb};

/// One line of a list: what was asked for, then its digest.
using Line = std::string;
/// Work that gives lines; jobs run side by side, lines stay in the jobs' order.
using Job = std::function<std::vector<Line>()>;

/// Every pass of the suites' problems in every type, layout and ISA, and of `randomProblems` seeded ones, each algorithm by itself.
void addHostJobs(const std::vector<Problem>& suite, int randomProblems, std::vector<Job>& jobs);
/// Plans of the suites' problems on several chips, and emulated runs of random ones: bits of results, counts and cycles.
void addNpuJobs(const std::vector<Problem>& suite, int randomProblems, std::vector<Job>& jobs);

}  // namespace cubejit::digest
