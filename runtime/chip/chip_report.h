// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a run of a chip's program counts, core by core. Leaves what a task counts to emulation/program_counts.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/tile/program.h"
#include "cubejit/core_counts.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"

namespace cubejit {

/// What the cores of a chip did, together.
EmulationReport reportOf(std::vector<CoreCounts> cores, const Machine& chip);

/// Which core has each visit of a phase's choice, in the order of walkChoices(). `tile`, `plan`: as for chipReport().
std::vector<int> coresOfVisits(const Problem& problem, const TilingPlan& plan, const Machine& chip, const Phase& phase);

/// What a run of the program of a legal plan counts: the same each time. `tile`: as it was lowered, before transforms. Events: the first
/// `mostEvents`, if `trace`.
EmulationReport chipReport(const Problem& problem, const TilingPlan& plan, const Machine& chip, const TileProgram& tile,
                           bool trace, std::int64_t mostEvents);

}  // namespace cubejit
