// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a core is made of: memory, clock, the task it works on. Leaves what instructions mean to unit_models.
#pragma once

#include <optional>

#include "emulation/clock.h"
#include "emulation/core_memory.h"
#include "emulation/cube_core.h"
#include "emulation/exponent_range.h"
#include "emulation/forward.h"
#include "emulation/forward_rules.h"
#include "emulation/kept_panels.h"
#include "emulation/load_code.h"
#include "emulation/move_out.h"
#include "emulation/seen_fractals.h"
#include "emulation/unit_code.h"
#include "emulation/unit_models.h"
#include "tiling/npu/block_stream.h"

namespace cubejit {

struct CubeCore::State {
  State(const Machine& m, int i, const UnitCode* c)
      : machine(m), index(i), code(c), memory(m.buffers), panels(m.buffers) {}

  Machine machine;
  int index = 0;
  const UnitCode* code = nullptr;
  const LoadCode* loads = nullptr;  ///< for the operands of the task; null: the scalar models load
  CoreMemory memory;
  CubePanels panels;
  OperandTables tables;
  std::vector<std::pair<std::int64_t, ExponentRange>> ranges;  ///< bf16: of what was loaded to L1, by where it begins
  bool allPairs = false;                                       ///< bf16: whatever is loaded may be multiplied as pairs
  bool onlySeen = false;                 ///< products of the task that are zero by their places are left out
  bool inOrder = false;                  ///< those of the block
  std::vector<UnitInstruction> waiting;  ///< then, and where panels are kept: loads that nothing has needed so far
  bool operandsHold = false;
  PanelReuse keeps;  ///< of the task
  KeptPanels keptA, keptB;
  const float *a = nullptr, *b = nullptr;  ///< what the step multiplies, if that is kept
  std::vector<UnitInstruction> inL1;       ///< loads of the task, done or waiting, that no other has overwritten
  bool addedSingly = false;                ///< the block has sums that were not added as pairs
  const CubeJob* job = nullptr;
  CoreTask task;
  BlockStream stream;
  CubeBlock block;
  UnitProgram program;
  Clock clock;
  std::optional<DType> clockFor;
  CoreCounts counts;
  bool keepEvents = false, taskOpen = false, forwarding = false;

  /// Says where an error happened.
  Error located(Error error) const;
  /// The destination of an instruction lies within its buffer; remembers the most that was used.
  Status claim(const UnitInstruction& instruction, const UnitContext& context);
  void note(CoreBuffer buffer, std::int64_t end);
  /// Whether all of a block's products are left out where they are zero; its sums are then in the order of panels.seen.
  bool seenInOrder(const ForwardedProgram& program) const;
  /// By generated code where there is some, else by the scalar model.
  void execute(const ForwardStep& step, const UnitContext& context);
  /// The program as it will run: forwarded, if that is asked for and the program may be.
  ForwardedProgram steps(const UnitContext& context) const;
  /// Whether a step's products may be added as pairs.
  bool pairs(const ForwardStep& step) const;
  void load(const UnitInstruction& instruction, const UnitContext& context);
  /// A move, unless what it makes is kept.
  void move(const ForwardStep& step, const ForwardWay& way, const UnitContext& context);
  bool lazy() const { return onlySeen || keeps.a || keeps.b; }
  /// Loads what waits for the part of L1 that begins there; -1: whatever waits.
  void loadWaiting(std::int64_t l1, const UnitContext& context);
  /// Decides `onlySeen` for the task.
  void prepareForwarding(const GlobalOperands& operands);
  void noteRange(const UnitInstruction& load, const UnitContext& context);
  /// Finds `loads` for the tables.
  void prepareLoads();
  /// Adds the time of a task that has begun and not been added.
  void endTask();
};

}  // namespace cubejit
