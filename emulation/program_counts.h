// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the tasks of a chip's program count: bytes, steps, instructions and cycles, read off the calls that stand for a unit's
// instructions. Leaves to clock how long an instruction takes and what it waits for.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "algorithms/cube/core_units.h"
#include "codegen/tile/program.h"
#include "codegen/tile/touch.h"
#include "cubejit/core_counts.h"
#include "cubejit/machine.h"
#include "emulation/clock.h"

namespace cubejit {

/// An instruction of a unit, read off the calls that are it: what they move through each buffer of the core, and memory.
struct CoreInstruction {
  /// Bytes [begin, end) of a buffer, of which `bytes` are touched.
  struct Traffic {
    std::int64_t begin = 0, end = 0, bytes = 0;
  };
  using Side = std::map<CoreBuffer, Traffic>;

  CoreUnit unit = CoreUnit::kNone;
  const char* name = "";  ///< in traces; lives as long as the process
  Side read, written;
  std::int64_t memory = 0;    ///< bytes read or written there
  std::int64_t loaded = 0;    ///< of L1, those that memory was read for
  std::int64_t products = 0;  ///< of the cube
  bool accumulates = false;   ///< in a buffer of the core
};

/// The instructions that calls [calls.begin, calls.end) of `nodes` are, in order. Precondition: the nodes are calls with one variant.
std::vector<CoreInstruction> instructionsOf(ProgramTouch& program, const Phase& phase, const std::vector<Node>& nodes,
                                            const Window& calls);

/// What a core has counted, instruction by instruction.
class CoreCounter {
 public:
  CoreCounter(const Machine& machine, DType operand);

  /// Nothing is in the buffers, time is 0; counts go on.
  void beginTask();
  void run(const CoreInstruction& instruction);

  Clock clock;
  CoreCounts counts;

 private:
  std::int64_t productsOfStep_ = 1;
  std::map<std::int64_t, std::int64_t> sums_;               ///< f32 that blocks in L0C have, by where they begin
  std::array<std::set<std::int64_t>, kCoreBuffers> parts_;  ///< where parts of buffers begin
};

/// What tasks that make the same calls, but for where operands lie in memory, have in common.
struct TaskCounts {
  CoreCounts counts;
  std::vector<TraceEvent> events;   ///< since the task began; the names live as long as the process
  Occupancy left;                   ///< what is in the buffers when it ends, by event
  std::vector<BufferPiece> before;  ///< reads of what was there when it began
};

/// Counts of one phase of a chip's program. Tasks are numbered as the phase's loops run: parallel axes, then loops around the choice.
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
