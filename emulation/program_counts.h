// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the tasks of a chip's program count: bytes, steps, instructions and cycles, read off the calls that stand for a unit's
// instructions. Leaves to clock how long an instruction takes and what it waits for.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/tile/program.h"
#include "cubejit/core_counts.h"
#include "cubejit/machine.h"

namespace cubejit {

/// What tasks that make the same calls, but for where operands lie in memory, have in common.
struct TaskCounts {
  CoreCounts counts;
  std::vector<TraceEvent> events;  ///< since the task began; the names live as long as the process
};

/// Of one phase of a chip's program. Tasks are numbered as the phase's loops run: parallel axes, then loops around the choice.
class PhaseCounts {
 public:
  /// Precondition: `phase` is loops around one choice of calls, as lowerings for chips make them.
  PhaseCounts(const TileProgram& program, const Phase& phase, const Machine& machine, DType operand);

  const std::vector<TaskCounts>& classes() const { return classes_; }
  /// Calls visit(current steps of the axes, class; -1 = a task that does nothing) for every task, in order.
  void eachTask(const std::function<void(const std::vector<const AxisStep*>&, int)>& visit) const;

 private:
  const Phase& phase_;
  std::vector<TaskCounts> classes_;
  std::vector<int> classOf_;  ///< by the number of the choice
};

}  // namespace cubejit
