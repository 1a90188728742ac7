// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which shortcuts a gradient takes, and the order of the passes.
#include "runtime/chip_passes.h"

#include <utility>

#include "algorithms/lower.h"
#include "codegen/tile/forward_copies.h"
#include "cubejit/core_counts.h"
#include "cubejit/index_map.h"
#include "emulation/exponent_range.h"

namespace cubejit {
namespace {

bool multiplies(const TilingPlan& plan) { return plan.gradient != Gradient::kDb; }

// What asks for certain values.
CubeShortcuts valueShortcuts(const Problem& problem, const TilingPlan& plan, const Machine& chip) {
  CubeShortcuts s;
  s.leavesOutZeros = plan.gradient == Gradient::kDx && !problem.transposed && problem.stride.h * problem.stride.w > 1;
  s.pairs = multiplies(plan) && formatOf(problem, TensorId::kDy).dtype == DType::kBf16 && isaOf(chip.isa.level).bf16Dot;
  return s;
}

// What a tensor is brought to L1 in is read there in other pieces: element by element, if at once.
TileProgram forwarded(TileProgram program) {
  CopyForwarding options;
  options.mostReads = [](const Buffer& buffer) { return buffer.name == toString(CoreBuffer::kL1) ? 0 : 1; };
  return forwardCopies(std::move(program), options);
}

ExponentRange rangeOf(const Problem& problem, TensorId t, const void* data) {
  const DType type = formatOf(problem, t).dtype;
  return rangeOf(static_cast<const std::byte*>(data), formatBytes(problem, t) / byteSize(type), type);
}

}  // namespace

Result<TileProgram> stagedProgram(const Problem& problem, const TilingPlan& plan, const Machine& chip) {
  if (!multiplies(plan)) return lower(problem, plan, chip);
  CUBEJIT_TRY(job, makeCubeJob(problem, plan, chip, false));
  CubeShortcuts shortcuts = valueShortcuts(problem, plan, chip);
  shortcuts.leavesOutZeros = true;  // rows that stand for no result, at least
  return lower(job, chip.isa.lanes(), shortcuts);
}

Result<std::vector<ProgramForms>> formsOf(std::vector<TileProgram> lowered, const Problem& problem,
                                          const std::vector<TilingPlan>& plans, const Machine& machine,
                                          const Options& options) {
  std::vector<ProgramForms> all;
  for (std::size_t i = 0; i < lowered.size(); ++i) {
    ProgramForms forms{std::move(lowered[i]), machine.isa, {}, {}, machine.isa};
    if (machine.isNpu() && options.forwardCopies) {
      const CubeShortcuts shortcuts = valueShortcuts(problem, plans[i], machine);
      TileProgram staged = forms.tile;
      if (plans[i].gradient == Gradient::kDx || shortcuts.pairs) {  // of others it is the lowered one
        CUBEJIT_TRY(shorter, stagedProgram(problem, plans[i], machine));
        staged = std::move(shorter);
      }
      TileProgram fast = forwarded(std::move(staged));
      if (shortcuts.leavesOutZeros || shortcuts.pairs) forms.anyValues = forwarded(forms.tile);
      forms.isa.bf16Dot = shortcuts.pairs;
      if (!(fast == forms.tile)) forms.lowered = std::exchange(forms.tile, std::move(fast));
    }
    all.push_back(std::move(forms));
  }
  return all;
}

bool valuesAllow(const Problem& problem, const TilingPlan& plan, const Machine& chip, const Tensors& tensors) {
  const bool dx = plan.gradient == Gradient::kDx;
  const void* other = dx ? tensors.w : tensors.x;
  if (tensors.dy == nullptr || other == nullptr) return false;
  const CubeShortcuts shortcuts = valueShortcuts(problem, plan, chip);
  const ExponentRange a = rangeOf(problem, TensorId::kDy, tensors.dy),
                      b = rangeOf(problem, dx ? TensorId::kW : TensorId::kX, other);
  return (!shortcuts.leavesOutZeros || zerosAddNothing(formatOf(problem, TensorId::kDy).dtype, a, b)) &&
         (!shortcuts.pairs || pairsAreExact(a, b));
}

}  // namespace cubejit
