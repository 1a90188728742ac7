// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a chip's whole program is checked: every run of instructions once by task_sanitizer, every task's memory by
// memory_sanitizer. Nothing is run: what instructions touch does not depend on values.
#pragma once

#include <functional>
#include <vector>

#include "codegen/tile/program.h"
#include "cubejit/problem.h"
#include "cubejit/sanitizer.h"

namespace cubejit {

/// `coresOf`: which core of the chip has each visit of a phase's choice, in the order in which walkChoices() comes to them. `program`:
/// as it was lowered, before passes; phases are loops around one choice of calls of one variant.
SanitizerReport sanitizeProgram(const Problem& problem, const TileProgram& program,
                                const std::function<std::vector<int>(const Phase&)>& coresOf);

}  // namespace cubejit
