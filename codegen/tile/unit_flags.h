// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the flags by which the units of a program wait for each other: as few as keep every instruction behind those whose bytes it
// reads or overwrites. Leaves checking flags that are there, whoever set them, to the sanitiser.
#pragma once

#include <functional>

#include "codegen/tile/program.h"

namespace cubejit {

/// Visits the straight runs of unit calls in a phase's body, each once: a task's (or an iteration's) instructions, in order.
void eachUnitRun(std::vector<Node>& body,
                 const std::function<void(std::vector<Node>& calls, const Window& run)>& visit);

/// Gives the calls of units their flags, in place of those that they have. Only private buffers are waited for: memory is ordered by
/// phases. Precondition: calls of units have one variant.
void setUnitFlags(TileProgram& program);
/// Removes the flags of a program whose calls are no longer those of the units.
void clearUnitFlags(TileProgram& program);

}  // namespace cubejit
