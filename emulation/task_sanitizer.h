// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is wrong inside a core while it runs a task's instructions: its buffers and its flags. Leaves memory that cores share to
// memory_sanitizer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/tile/program.h"
#include "codegen/tile/touch.h"
#include "cubejit/sanitizer.h"
#include "emulation/byte_set.h"
#include "emulation/exact_touch.h"

namespace cubejit {

/// Without core and task, which its user knows.
struct TaskFinding {
  FindingKind kind = FindingKind::kRace;
  int call = -1, otherCall = -1;  ///< of the run, from 0; -1: none
  int buffer = -1;                ///< of the program; -1: none
  ByteRange bytes;
  std::string what;
};

/// What private buffers hold, by buffer: the bytes that were written.
using Written = std::map<int, ByteSet>;

/// Who a call of a run is. Core and task are left open.
FindingParty partyOf(const Phase& phase, const std::vector<Node>& calls, const Window& run, int call);

/// Checks the run, and adds what it writes to `written`, which says what was there before. `mayStay`: sums may stay in L0C, for base blocks
/// of nothing but padding, which the last real group has, are computed and not written.
std::vector<TaskFinding> sanitizeRun(ProgramTouch& touch, ExactTouch& exact, const Phase& phase,
                                     const std::vector<Node>& calls, const Window& run, bool mayStay, Written& written);

}  // namespace cubejit
