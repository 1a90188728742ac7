// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the host that tests plan for: two cores with the caches of a common server, at the ISA level asked for.
#pragma once

#include "tiling/planner.h"

namespace cubejit {

inline Machine hostOf(IsaLevel level) { return hostMachine(isaOf(level), 2, 32 << 10, 1 << 20, 32 << 20); }

}  // namespace cubejit
