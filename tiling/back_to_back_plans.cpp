// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by bytes: a quarter of a core's cache holds dy, the rest what the passes pair it with.
#include "tiling/back_to_back_plans.h"

#include <algorithm>

#include "algorithms/kit/rates.h"
#include "cubejit/index_map.h"
#include "tiling/planner.h"

namespace cubejit {

DyBlocks dyBlocks(const Problem& problem, const Machine& machine) {
  constexpr std::int64_t kUnitsPerCore = 4;
  const std::int64_t bytes = formatBytes(problem, TensorId::kDy);
  const DyBlocks blocks{
      machine.buffers.l1Bytes / 4,
      static_cast<std::int64_t>(kOwnL3 * static_cast<double>(machine.buffers.l2Bytes)) / machine.cores,
      kUnitsPerCore * machine.cores};
  return isFar(machine, static_cast<double>(bytes)) && bytes >= blocks.fewest * blocks.bytes ? blocks : DyBlocks{};
}

TilingPlan planInBlocks(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                        std::int64_t blockBytes) {
  if (plan.pass == Pass::kDx || blockBytes <= 0) return plan;  // the tasks of dX are parts of its result
  const std::int64_t bytes = formatBytes(problem, TensorId::kDy);
  TilingPlan finer = plan;
  std::int64_t* const parts = algorithmOf(plan)->reductionParts(finer);
  if (parts == nullptr) return plan;
  *parts = std::max(*parts, divUp(bytes, blockBytes));
  if (!checkPlan(problem, finer, machine).empty()) return plan;
  const PlanCost before = planCost(problem, plan, machine), after = planCost(problem, finer, machine);
  const double again = static_cast<double>(bytes) / machine.rates.dramBytesPerCycle / machine.cores;
  // What is computed meanwhile hides some of it, and the model's word is not as good as a measurement.
  const double saved = 0.5 * again * std::min(1.0, before.memoryCycles / std::max(1.0, before.computeCycles));
  return after.totalCycles <= before.totalCycles + saved ? finer : plan;
}

}  // namespace cubejit
