// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: the algorithm's program of the core problem, then the reorders around it.
#include "algorithms/lower.h"

#include <utility>

#include "algorithms/algorithm.h"
#include "algorithms/kit/adjoint.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/tensor_binding.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/transforms/forward_names.h"
#include "algorithms/transforms/reorder.h"
#include "tiling/no_throw.h"

namespace cubejit {

namespace {

Result<TileProgram> lowerForChip(const Problem& problem, const TilingPlan& plan, const Machine& chip) {
  if (plan.pass == Pass::kDb) return lowerCubeBias(problem, chip, chip.isa.lanes());
  CUBEJIT_TRY(job, makeCubeJob(problem, plan, chip));
  return lower(job, chip.isa.lanes());
}

// `ops`: of a forward pass, whose adjoint the problem is.
Result<TileProgram> lowerPass(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                              const ResultOps& ops) {
  if (plan.pass == Pass::kY) {
    if (machine.isEmulated()) {  // whose job is the adjoint's
      CUBEJIT_TRY(program, lowerForChip(problem, plan, machine));
      return inForwardNames(std::move(program), problem);
    }
    const ResultOps finish = problem.batch == 0 ? ResultOps{} : ResultOps{problem.postOps, problem.cout};
    CUBEJIT_TRY(program, lowerPass(adjointOf(problem), asData(plan), machine, finish));
    return inForwardNames(std::move(program), problem);
  }
  if (machine.isEmulated()) return lowerForChip(problem, plan, machine);
  const Algorithm* algorithm = algorithmOf(plan);
  if (algorithm == nullptr)
    return Error{ErrorCode::kUnsupported, Stage::kTile, "the plan's algorithm is not part of this build"};
  if (!plan.reorders.any()) return algorithm->lower(problem, plan, machine, ops);
  // A reorder rounds what it stores, and post-ops come before rounding.
  const Problem inner = coreProblem(problem, plan);
  const bool behind = plan.reorders.result;
  CUBEJIT_TRY(core, algorithm->lower(inner, plan, machine, behind ? ResultOps{} : ops));
  if (plan.reorders.spaceToDepth)
    core.name.replace(0, problemLabel(inner, plan.pass).size(), problemLabel(problem, plan.pass));
  return addStaging(std::move(core), problem, plan, machine.isa.lanes(), behind ? ops : ResultOps{});
}

}  // namespace

Result<TileProgram> lower(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  return withoutThrowing(Stage::kTile, [&]() -> Result<TileProgram> {
    CUBEJIT_TRY(program, lowerPass(problem, plan, machine, {}));
    setElements(program, problem);
    return std::move(program);
  });
}

}  // namespace cubejit
