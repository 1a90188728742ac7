// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a plan costs on an NPU: the slowest core, or memory. Leaves the time of a task to task_times, and which tasks a core
// has to core_shares.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "algorithms/cube/task_times.h"
#include "algorithms/cube/work.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"

namespace cubejit {

struct CubeCost {
  double totalCycles = 0;  ///< of the slowest core, or of memory if that is slower: what plans are compared by
  double slowestCore = 0;
  double meanCore = 0;      ///< over all cores of the chip: what perfect balance would take
  double memoryCycles = 0;  ///< the chip's memory, all cores together
  double memoryBytes = 0;   ///< that it moves
  TaskTimes sums;           ///< over all tasks
  std::int64_t tasks = 0;
  bool exact = true;  ///< false: only `totalCycles`, a lower bound that already exceeds `limit`
};

/// The cost of a legal plan. Stops early, with a lower bound, once it must exceed `limit`.
CubeCost cubeCost(const CubeWork& work, const TilingPlan& plan, const Machine& machine,
                  double limit = std::numeric_limits<double>::infinity());

/// What a plan takes at least.
struct LeastCost {
  double core = 0;    ///< cycles of the slowest core
  double memory = 0;  ///< as CubeCost::memoryCycles
  double total() const { return core > memory ? core : memory; }
};

/// The least cost of this plan, which has whole sums in L1, and of all plans that differ from it in steps and buffers of L1 alone. They need
/// not fit.
LeastCost leastCost(const CubeWork& work, const TilingPlan& plan, const Machine& machine);

/// The least cost of all plans that share this plan's single shape, base m and base n, where a multiply-add takes at least `perProduct` cycles.
/// Precondition: base k is the whole sum. `staysA`, `staysB`: L1 has room for all of the operand's sum.
LeastCost leastCostOfBlock(const CubeWork& work, const TilingPlan& plan, const Machine& machine, double perProduct,
                           bool staysA, bool staysB);

/// What cores have to do for a single shape, whatever the base block and the steps are. Nothing else of the plan is read.
struct CoreLoad {
  double products = 0;  ///< multiply-adds, with padding, of the core that has the most
  double first = 0;     ///< cycles that each core waits for first bytes
};
CoreLoad coreLoad(const CubeWork& work, const TilingPlan& plan, const Machine& machine);

/// Cycles of each core, in order. Precondition: the plan is legal.
std::vector<double> coreCycles(const CubeWork& work, const TilingPlan& plan, const Machine& machine);

/// "cube", "l1_to_l0", "gm_to_l1", "l0c_to_gm", "memory" or "fill": the pipe that takes the longest.
std::string boundOf(const CubeCost& cost);

}  // namespace cubejit
