// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what goes before what: a plan of the caller's is not looked up.
#include "runtime/tuning/known_plans.h"

#include <algorithm>

#include "runtime/pipeline/plan_call.h"
#include "runtime/tuning/plan_source.h"
#include "tiling/planner.h"

namespace cubejit {

void SourcedRequest::mark(const Executable::State& state) const {
  for (const auto& [pass, source] : sources) {
    for (const auto& part : state.parts) {
      if (part->plan.pass == pass) part->source = source;
    }
  }
}

Result<SourcedRequest> withKnownPlans(const CompileRequest& request, const Machine& machine, const Options& options) {
  SourcedRequest sourced{request, {}};
  for (const TilingPlan& plan : request.plans) sourced.sources.emplace_back(plan.pass, PlanSource::kCaller);
  for (const Pass pass : kPasses) {
    const bool given = std::any_of(request.plans.begin(), request.plans.end(),
                                   [&](const TilingPlan& plan) { return plan.pass == pass; });
    if (given || !request.passes.has(pass)) continue;
    CUBEJIT_TRY(found, findPlan(request.problem, pass, machine, options));
    const bool repacks = request.weights == WeightsUse::kKept && pass == Pass::kDx;
    // Records are of runs that pack; a pin is a pin.
    if (!found.plan || (repacks && found.source != PlanSource::kPin)) continue;
    // What was tuned without the limit may not fit; what is pinned and does not is an error.
    if (options.memLimit > 0 && found.source != PlanSource::kPin &&
        checkPlan(request.problem, *found.plan, machine).empty() &&
        !fitsMemLimit(request.problem, *found.plan, machine, options).ok())
      continue;
    sourced.request.plans.push_back(*found.plan);
    sourced.sources.emplace_back(pass, found.source);
  }
  return sourced;
}

}  // namespace cubejit
