// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what goes before what: a plan of the caller's is not looked up.
#include "runtime/known_plans.h"

#include <algorithm>

#include "runtime/plan_call.h"
#include "runtime/tuning/plan_source.h"
#include "tiling/planner.h"

namespace cubejit {

void SourcedRequest::mark(const Executable::State& state) const {
  for (const auto& [gradient, source] : sources) {
    for (const auto& part : state.parts) {
      if (part->plan.gradient == gradient) part->source = source;
    }
  }
}

Result<SourcedRequest> withKnownPlans(const CompileRequest& request, const Machine& machine, const Options& options) {
  SourcedRequest sourced{request, {}};
  for (const TilingPlan& plan : request.plans) sourced.sources.emplace_back(plan.gradient, PlanSource::kCaller);
  for (const Gradient gradient : kPasses) {
    const bool given = std::any_of(request.plans.begin(), request.plans.end(),
                                   [&](const TilingPlan& plan) { return plan.gradient == gradient; });
    if (given || !request.gradients.has(gradient)) continue;
    CUBEJIT_TRY(found, findPlan(request.problem, gradient, machine, options));
    const bool repacks = request.weights == WeightsUse::kKept && gradient == Gradient::kDx;
    // Records are of runs that pack; a pin is a pin.
    if (!found.plan || (repacks && found.source != PlanSource::kPin)) continue;
    // What was tuned without the limit may not fit; what is pinned and does not is an error.
    if (options.memLimit > 0 && found.source != PlanSource::kPin &&
        checkPlan(request.problem, *found.plan, machine).empty() &&
        !fitsMemLimit(request.problem, *found.plan, machine, options).ok())
      continue;
    sourced.request.plans.push_back(*found.plan);
    sourced.sources.emplace_back(gradient, found.source);
  }
  return sourced;
}

}  // namespace cubejit
