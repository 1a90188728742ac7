// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the planners of the host and of NPUs answer the same two questions: which plans there are, and what follows from one.
#include "tiling/legal_plans.h"

#include <utility>

#include "algorithms/cube/space.h"
#include "algorithms/kit/adjoint.h"

namespace cubejit {

Result<std::vector<Candidate>> legalPlans(const Problem& problem, Pass pass, const Machine& machine) {
  const bool explain = !machine.isEmulated();
  CUBEJIT_TRY(choice, choosePlan(problem, pass, machine, explain));
  if (machine.isEmulated() && pass == Pass::kY) {
    std::vector<Candidate> legal = legalCubePlans(adjointOf(problem), Pass::kDx, machine);
    for (Candidate& candidate : legal) candidate.plan = asForward(candidate.plan);
    return legal;
  }
  if (machine.isEmulated() && pass != Pass::kDb) return legalCubePlans(problem, pass, machine);
  std::vector<Candidate> legal;
  for (Candidate& candidate : choice.considered) {
    if (!candidate.refusedBy.empty()) break;  // refused ones come last
    legal.push_back(std::move(candidate));
  }
  return legal;
}

TilingPlan completed(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  if (plan.pass == Pass::kY) return asForward(completed(adjointOf(problem), asData(plan), machine));
  if (machine.isEmulated() && plan.pass != Pass::kDb) return withCubeSplit(problem, plan, machine);
  return plan;
}

}  // namespace cubejit
