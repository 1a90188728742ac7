// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a core is made of: memory, clock, the task it works on. Leaves what instructions mean to unit_models.
#pragma once

#include <optional>

#include "emulation/block_stream.h"
#include "emulation/clock.h"
#include "emulation/core_memory.h"
#include "emulation/cube_core.h"
#include "emulation/forward.h"
#include "emulation/move_out.h"
#include "emulation/unit_code.h"
#include "emulation/unit_models.h"

namespace cubejit {

struct CubeCore::State {
  State(const Machine& m, int i, const UnitCode* c)
      : machine(m), index(i), code(c), memory(m.buffers), panels(m.buffers) {}

  Machine machine;
  int index = 0;
  const UnitCode* code = nullptr;
  CoreMemory memory;
  CubePanels panels;
  OperandTables tables;
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
  /// By generated code where there is some, else by the scalar model.
  void execute(const UnitInstruction& instruction, const UnitContext& context);
  /// Adds the time of a task that has begun and not been added.
  void endTask();
};

}  // namespace cubejit
