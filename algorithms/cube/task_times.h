// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how long one task takes on an NPU core, pipe by pipe. Leaves to the cost how tasks add up to cores.
#pragma once

#include "algorithms/cube/footprint.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"

namespace cubejit {

// No public figure says what an instruction or a first byte costs. These are set so that base blocks far below a buffer's size,
// and tasks far below a core's, are seen to be wasteful; they cancel out between plans of the same cut.
inline constexpr double kIssueCycles = 16;
inline constexpr double kFirstByteCycles = 300;

/// Core cycles of one task in each pipe, and their sum with what double buffering hides. Bytes cross between memory and L1.
struct TaskTimes {
  double total = 0;
  double least = 0;  ///< of `total`, whatever the steps and buffers of L1 are
  double cube = 0;   ///< steps of the cube, zeros and padding included
  double load = 0;   ///< L1 to L0A and L0B, which share a pipe
  double stage = 0;  ///< memory to L1, A and B in one pipe
  double store = 0;  ///< L0C to memory
  double fill = 0;   ///< first loads and last stores that nothing hides
  double bytesIn = 0, bytesOut = 0;
  double products = 0;  ///< multiply-adds the cube does, with zeros and padding
};

/// Extents of one task; tails are smaller than the plan's. `k` of one kernel depth, `meets` kernel depths in turn.
struct TaskExtents {
  std::int64_t m = 0, k = 0, n = 0, meets = 1;
};

/// Multiply-adds of a task, with those that fill steps of the cube up, and cycles in which its results leave L0C.
double productsOf(const CubeWork& work, const TaskExtents& task, const Machine& machine);
double storeCyclesOf(const CubeWork& work, const TaskExtents& task, const Machine& machine);

/// Bytes of each operand that cross between memory and L1. `staysA`, `staysB`: all of the sum is in L1 at once, if the order of blocks lets it stay.
struct StagedBytes {
  double a = 0, b = 0;
};
StagedBytes stagedBytes(const CubeWork& work, const TilingPlan& plan, const CubeFootprint& footprint,
                        const TaskExtents& task, const Machine& machine, bool staysA, bool staysB);

/// The fewest cycles that a multiply-add of a task with this base block takes, whatever else the plan decides: steps of the cube or loads
/// into L0, with what issuing each costs. Bases are multiples of a step.
double leastCyclesPerProduct(const CubeWork& work, const Mkn& base, const Machine& machine);

TaskTimes timesOf(const CubeWork& work, const TilingPlan& plan, const CubeFootprint& footprint, const TaskExtents& task,
                  const Machine& machine);

}  // namespace cubejit
