// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which shortcuts a pass takes, and the order of the transforms.
#include "runtime/chip/chip_transforms.h"

#include <utility>

#include "algorithms/kit/adjoint.h"
#include "algorithms/transforms/forward_names.h"
#include "codegen/tile/elide_copies.h"
#include "cubejit/core_counts.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/index_map.h"

namespace cubejit {
namespace {

// What the cube multiplies.
DType operandOf(const Problem& problem, Pass pass) { return formatOf(problem, inputOf(pass)).dtype; }

bool multiplies(const TilingPlan& plan) { return plan.pass != Pass::kDb; }

// Whether products of dX are zero because of a stride.
bool spreadsZeros(const Problem& problem, Pass pass) {
  if (pass == Pass::kY) return spreadsZeros(adjointOf(problem), Pass::kDx);
  return pass == Pass::kDx && !problem.transposed && problem.stride.h * problem.stride.w > 1;
}

ExponentRange rangeOf(const Problem& problem, TensorId t, const void* data) {
  const DType type = formatOf(problem, t).dtype;
  return rangeOf(static_cast<const std::byte*>(data), formatBytes(problem, t) / byteSize(type), type);
}

CubeShortcuts shortcutsOf(const TilingPlan& plan, const Problem& problem, const Machine& chip, bool fast) {
  return multiplies(plan) ? shortcutsOf(operandOf(problem, plan.pass), chip.isa.level, fast) : CubeShortcuts{};
}

}  // namespace

CubeShortcuts shortcutsOf(DType operand, IsaLevel level, bool fast) {
  return {fast, operand == DType::kBf16 && isaOf(level).bf16Dot};
}

CubeShortcuts allowedOf(const CubeShortcuts& wanted, const Problem& problem, Pass pass, const ExponentRange& dy,
                        const ExponentRange& other) {
  const DType operand = operandOf(problem, pass);
  return {wanted.leavesOutZeros && (!spreadsZeros(problem, pass) || zerosAddNothing(operand, dy, other)),
          wanted.pairs && pairsAreExact(dy, other)};
}

bool asksValues(const CubeShortcuts& wanted, const Problem& problem, Pass pass) {
  return wanted.pairs || (wanted.leavesOutZeros && spreadsZeros(problem, pass));
}

TileProgram withoutCopies(TileProgram program) {
  CopyElision options;
  // What a tensor is brought to L1 in is read there in other pieces: element by element, if at once.
  options.mostReads = [](const Buffer& buffer) { return buffer.name == toString(CoreBuffer::kL1) ? 0 : 1; };
  return elideCopies(std::move(program), options);
}

Result<TileProgram> stagedProgram(const Problem& problem, const TilingPlan& plan, const Machine& chip,
                                  const Options& options) {
  if (!multiplies(plan)) return lower(problem, plan, chip);
  CUBEJIT_TRY(job, makeCubeJob(problem, plan, chip));
  CUBEJIT_TRY(program, lower(job, chip.isa.lanes(), shortcutsOf(plan, problem, chip, options.elideCopies)));
  return plan.pass == Pass::kY ? inForwardNames(std::move(program), problem) : std::move(program);
}

Result<std::vector<ProgramForms>> formsOf(std::vector<TileProgram> lowered, const Problem& problem,
                                          const std::vector<TilingPlan>& plans, const Machine& machine,
                                          const Options& options) {
  std::vector<ProgramForms> all;
  for (std::size_t i = 0; i < lowered.size(); ++i) {
    ProgramForms forms{std::move(lowered[i]), machine.isa, {}, {}, machine.isa};
    const bool fast = options.elideCopies;
    const CubeShortcuts wanted = machine.isEmulated() ? shortcutsOf(plans[i], problem, machine, fast) : CubeShortcuts{};
    if (machine.isEmulated() && (fast || wanted.pairs)) {
      CUBEJIT_TRY(staged, stagedProgram(problem, plans[i], machine, options));
      TileProgram faithful = std::exchange(forms.tile, fast ? withoutCopies(std::move(staged)) : std::move(staged));
      if (asksValues(wanted, problem, plans[i].pass)) forms.anyValues = fast ? withoutCopies(faithful) : faithful;
      forms.isa.bf16Dot = wanted.pairs;
      if (fast && !(faithful == forms.tile)) forms.lowered = std::move(faithful);
    }
    all.push_back(std::move(forms));
  }
  return all;
}

bool valuesAllow(const Problem& problem, const TilingPlan& plan, const Machine& chip, bool fast,
                 const Tensors& tensors) {
  if (plan.pass == Pass::kY) return valuesAllow(adjointOf(problem), asData(plan), chip, fast, adjointTensors(tensors));
  const bool dx = plan.pass == Pass::kDx;
  const void* other = dx ? tensors.w : tensors.x;
  if (tensors.dy == nullptr || other == nullptr) return false;
  const CubeShortcuts wanted = shortcutsOf(plan, problem, chip, fast);
  return allowedOf(wanted, problem, plan.pass, rangeOf(problem, TensorId::kDy, tensors.dy),
                   rangeOf(problem, dx ? TensorId::kW : TensorId::kX, other)) == wanted;
}

}  // namespace cubejit
