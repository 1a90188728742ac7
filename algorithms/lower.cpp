// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: the algorithm's program of the core problem, then the reorders around it.
#include "algorithms/lower.h"

#include <utility>

#include "algorithms/algorithm.h"
#include "algorithms/kit/adjoint.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/transforms/forward_names.h"
#include "algorithms/transforms/post_ops.h"
#include "algorithms/transforms/reorder.h"
#include "tiling/no_throw.h"

namespace cubejit {

namespace {

Result<TileProgram> lowerForChip(const Problem& problem, const TilingPlan& plan, const Machine& chip) {
  if (plan.pass == Pass::kDb) return lowerBias(problem, chip, chip.isa.lanes());
  CUBEJIT_TRY(job, makeCubeJob(problem, plan, chip));
  return lower(job, chip.isa.lanes());
}

Result<TileProgram> lowerPass(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  if (plan.pass == Pass::kY) {
    if (machine.isEmulated()) {  // whose job is the adjoint's
      CUBEJIT_TRY(program, lowerForChip(problem, plan, machine));
      return inForwardNames(std::move(program), problem);
    }
    Problem adjoint = adjointOf(problem);
    // A reorder rounds what it stores, and post-ops come before rounding.
    const bool wide = problem.postOps.any() && isReordered(plan.reorders, TensorId::kY) &&
                      byteSize(formatOf(problem, TensorId::kY).dtype) == 2;
    if (wide) {
      TensorFormat f32 = formatOf(adjoint, TensorId::kDx);
      f32.c0 = f32.blockChannels();
      f32.dtype = DType::kF32;
      adjoint.formats[static_cast<std::size_t>(TensorId::kDx)] = f32;
    }
    CUBEJIT_TRY(program, lowerPass(adjoint, asData(plan), machine));
    return addPostOps(inForwardNames(std::move(program), problem), problem, wide, machine.isa.lanes());
  }
  if (machine.isEmulated()) return lowerForChip(problem, plan, machine);
  const Algorithm* algorithm = algorithmOf(plan);
  if (algorithm == nullptr)
    return Error{ErrorCode::kUnsupported, Stage::kTile, "the plan's algorithm is not part of this build"};
  if (!plan.reorders.any()) return algorithm->lower(problem, plan, machine);
  CUBEJIT_TRY(core, algorithm->lower(coreProblem(problem, plan), plan, machine));
  if (plan.reorders.spaceToDepth) core.name = problemLabel(problem, plan.pass);
  return addStaging(std::move(core), problem, plan, machine.isa.lanes());
}

}  // namespace

Result<TileProgram> lower(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  return withoutThrowing(Stage::kTile, [&] { return lowerPass(problem, plan, machine); });
}

}  // namespace cubejit
