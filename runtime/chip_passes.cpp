// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order of the passes.
#include "runtime/chip_passes.h"

#include <utility>

#include "algorithms/lower.h"
#include "codegen/tile/forward_copies.h"
#include "cubejit/index_map.h"
#include "emulation/exponent_range.h"

namespace cubejit {
namespace {

bool stridesMakeZeros(const Problem& problem, const TilingPlan& plan) {
  return plan.gradient == Gradient::kDx && !problem.transposed && problem.stride.h * problem.stride.w > 1;
}

ExponentRange rangeOf(const Problem& problem, TensorId t, const void* data) {
  const DType type = formatOf(problem, t).dtype;
  return rangeOf(static_cast<const std::byte*>(data), formatBytes(problem, t) / byteSize(type), type);
}

}  // namespace

Result<TileProgram> stagedProgram(const Problem& problem, const TilingPlan& plan, const Machine& chip) {
  if (plan.gradient != Gradient::kDx) return lower(problem, plan, chip);
  CUBEJIT_TRY(job, makeCubeJob(problem, plan, chip, false));
  return lower(job, chip.isa.lanes(), true);
}

Result<std::optional<FastProgram>> fastProgram(const TileProgram& lowered, const Problem& problem,
                                               const TilingPlan& plan, const Machine& chip) {
  FastProgram fast;
  if (plan.gradient == Gradient::kDx) {
    CUBEJIT_TRY(staged, stagedProgram(problem, plan, chip));
    fast.tile = forwardCopies(std::move(staged));
  } else {
    fast.tile = forwardCopies(lowered);
  }
  if (fast.tile == lowered) return std::optional<FastProgram>();
  if (stridesMakeZeros(problem, plan)) fast.anyValues = forwardCopies(lowered);
  return std::optional<FastProgram>(std::move(fast));
}

bool zeroAddsNothing(const Problem& problem, const Tensors& tensors) {
  if (tensors.dy == nullptr || tensors.w == nullptr) return false;
  return zerosAddNothing(formatOf(problem, TensorId::kDy).dtype, rangeOf(problem, TensorId::kDy, tensors.dy),
                         rangeOf(problem, TensorId::kW, tensors.w));
}

}  // namespace cubejit
