// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which core of the chip the sanitiser is told, and that programs with findings are not compiled. Leaves what is wrong to
// emulation/program_sanitizer.
#pragma once

#include <vector>

#include "codegen/tile/program.h"
#include "cubejit/machine.h"
#include "cubejit/options.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"
#include "cubejit/sanitizer.h"

namespace cubejit {

/// `tile`: the plan's program as it was lowered, before transforms.
SanitizerReport sanitizeChip(const Problem& problem, const TilingPlan& plan, const Machine& chip,
                             const TileProgram& tile);

/// Checks the programs of an NPU's plans, if options.sanitize: kInternal, with every finding in a line of its own.
Status sanitizeEach(const std::vector<TileProgram>& tiles, const Problem& problem, const std::vector<TilingPlan>& plans,
                    const Machine& machine, const Options& options);

}  // namespace cubejit
