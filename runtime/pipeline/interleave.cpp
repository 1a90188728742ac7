// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by trying; see the header.
#include "runtime/pipeline/interleave.h"

#include <utility>

#include "algorithms/algorithm.h"
#include "algorithms/lower.h"

namespace cubejit {
namespace {

std::int64_t reductionPartsOf(TilingPlan plan) {
  const std::int64_t* parts = algorithmOf(plan)->reductionParts(plan);
  return parts == nullptr ? 1 : *parts;
}

}  // namespace

Result<std::vector<TileProgram>> lowerEach(const Problem& problem, const std::vector<TilingPlan>& plans,
                                           const Machine& machine) {
  std::vector<TileProgram> programs;
  for (const TilingPlan& plan : plans) {
    CUBEJIT_TRY(program, lower(problem, plan, machine));
    programs.push_back(std::move(program));
  }
  return programs;
}

Result<Interleaving> planInterleaving(const Problem& problem, const std::vector<TilingPlan>& plans, bool mayCut,
                                      const Machine& machine) {
  Interleaving out{plans.size() < 2 || machine.isEmulated() ? DyBlocks{} : dyBlocks(problem, machine), plans,
                   std::vector<bool>(plans.size(), false)};
  if (out.blocks.bytes <= 0 || !mayCut) return out;
  const auto isCut = [&](std::size_t i) { return reductionPartsOf(out.plans[i]) != reductionPartsOf(plans[i]); };
  bool tries = false;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    out.plans[i] = planInBlocks(problem, plans[i], machine, out.blocks.bytes);
    tries = tries || isCut(i);
  }
  if (!tries) return out;
  CUBEJIT_TRY(tried, lowerEach(problem, out.plans, machine));
  const std::optional<BackToBack> order = interleave(tried, out);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!isCut(i) || (order && order->includes(i))) continue;
    out.plans[i] = plans[i];
    out.tooCoarse[i] = true;
  }
  return out;
}

std::optional<BackToBack> interleave(const std::vector<TileProgram>& programs, const Interleaving& decided) {
  if (decided.blocks.bytes <= 0) return std::nullopt;
  std::vector<const TileProgram*> members;
  for (std::size_t i = 0; i < programs.size(); ++i) members.push_back(decided.tooCoarse[i] ? nullptr : &programs[i]);
  return backToBack(members, decided.blocks);
}

}  // namespace cubejit
