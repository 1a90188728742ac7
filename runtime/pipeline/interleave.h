// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which passes of one call read dy block by block, by turns. That needs plans whose tasks are as small as blocks, and only
// programs tell whether they are: so plans are tried here, lowered for the answer alone, before the line lowers them. What this step
// returns is final; nothing is planned again once lowering has begun.
// Leaves to tiling/back_to_back_plans.h when blocks are worth it, to runtime/exec/back_to_back.h the order of tasks.
#pragma once

#include <optional>
#include <vector>

#include "codegen/tile/program.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/result.h"
#include "runtime/exec/back_to_back.h"
#include "tiling/back_to_back_plans.h"

namespace cubejit {

struct Interleaving {
  DyBlocks blocks;                ///< no bytes: nothing goes by turns
  std::vector<TilingPlan> plans;  ///< final, in the order of those given
  std::vector<bool> tooCoarse;    ///< tasks of blocks were tried for this plan in vain: it stays as it was, and apart
};

/// `plans` are of `problem`. Where `mayCut`, tasks become those of blocks in plans that then go by turns; others stay as they are.
/// Lowers only if there is something to try.
Result<Interleaving> planInterleaving(const Problem& problem, const std::vector<TilingPlan>& plans, bool mayCut,
                                      const Machine& machine);

/// The program of each plan.
Result<std::vector<TileProgram>> lowerEach(const Problem& problem, const std::vector<TilingPlan>& plans,
                                           const Machine& machine);

/// The order in which the programs of the plans go by turns; none if each runs alone.
std::optional<BackToBack> interleave(const std::vector<TileProgram>& programs, const Interleaving& decided);

}  // namespace cubejit
