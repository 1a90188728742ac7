// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by cycles: a conversion that gradients share must cost less than each taking dy as it is.
#include "runtime/plan_gradients.h"

#include <algorithm>
#include <string>
#include <utility>

#include "algorithms/kit/lower/eltwise_backward.h"
#include "algorithms/kit/reorder.h"
#include "cubejit/index_map.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// With what the plans cost that were chosen here.
struct Costed {
  GradientPlans gradients;
  double cycles = 0;
};

Result<TilingPlan> givenPlan(const CompileRequest& request, const TilingPlan& given, const Machine& machine) {
  const std::vector<std::string> broken = checkPlan(request.problem, given, machine);
  if (broken.empty()) return given;
  std::string message = std::string("the plan given for ") + toString(given.gradient) + " is not legal:";
  for (const std::string& rule : broken) message += "\n" + rule;
  return Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan, message};
}

Result<Costed> planEach(const CompileRequest& request, const Problem& problem, const Machine& machine,
                        const std::string& algorithm) {
  Costed out{{problem, {}, false}, 0};
  for (const Gradient gradient : kPasses) {
    if (!request.gradients.has(gradient)) continue;
    const auto given = std::find_if(request.plans.begin(), request.plans.end(),
                                    [&](const TilingPlan& p) { return p.gradient == gradient; });
    if (given != request.plans.end()) {
      CUBEJIT_TRY(plan, givenPlan(request, *given, machine));
      out.gradients.plans.push_back(plan);
    } else {
      CUBEJIT_TRY(choice, choosePlan(problem, gradient, machine, false, request.weights, algorithm));
      out.gradients.plans.push_back(choice.plan);
      out.cycles += choice.cost.totalCycles;
    }
  }
  return out;
}

}  // namespace

Result<GradientPlans> planGradients(const CompileRequest& request, const Machine& machine,
                                    const std::string& algorithm) {
  const bool slopes = readSlope(request.problem, request.gradients);
  if (slopes && machine.isNpu())
    return Error{ErrorCode::kUnsupported, Stage::kPlan,
                 "post_ops = " + toString(request.problem.postOps) +
                     ": emulated chips compute gradients of the sums of y alone; leave the post-ops out, and multiply "
                     "dy by the slope"};
  if (slopes) {
    CUBEJIT_TRY(applies, slopeApplies(request.problem));
    static_cast<void>(applies);
  }
  CUBEJIT_TRY(apart, planEach(request, request.problem, machine, algorithm));
  Problem shared = request.problem;
  shared.formats[static_cast<std::size_t>(TensorId::kDy)] = coreFormat(TensorId::kDy);
  const bool alike = formatOf(shared, TensorId::kDy) == formatOf(request.problem, TensorId::kDy);
  if (machine.isNpu() || slopes ||
      std::count_if(kPasses.begin(), kPasses.end(),
                    [&](Gradient g) { return request.gradients.has(g) && reads(g, TensorId::kDy); }) < 2 ||
      !request.plans.empty() || alike)
    return std::move(apart.gradients);
  auto together = planEach(request, shared, machine, algorithm);
  if (!together.ok()) return std::move(apart.gradients);
  together->cycles += conversionCycles(request.problem, TensorId::kDy, machine) / machine.cores;
  together->gradients.sharesDy = true;
  return std::move((together->cycles < apart.cycles ? *together : apart).gradients);
}

}  // namespace cubejit
