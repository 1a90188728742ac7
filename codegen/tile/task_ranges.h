// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which part of a buffer each task of a phase reads. Leaves to the runtime what to do about tasks that read the same.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// From the lowest to the highest address, bytes from the buffer's begin, that calls of a task get for operands in the buffer.
/// (A kernel reads on from there: how far is not counted.) Where windows depend on other than parallel axes the range may be wider
/// than what is read. lo > hi: the task does not read the buffer.
struct TaskRange {
  std::int64_t lo = 0, hi = -1;
  bool reads() const { return lo <= hi; }
  friend bool operator==(const TaskRange& x, const TaskRange& y) = default;
};

/// By task, in the order of program.h.
std::vector<TaskRange> taskRanges(const Phase& phase, int buffer);

}  // namespace cubejit
