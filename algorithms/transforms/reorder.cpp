// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the surgery: the buffer of a staged tensor becomes workspace, a new one stands for what the caller has.
#include "algorithms/transforms/reorder.h"

#include <algorithm>
#include <utility>

#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/transforms/convert.h"

namespace cubejit {
namespace {

// Where the core program has the elements of what the caller calls `t`.
IndexMap coreMap(const Problem& asked, const Problem& inner, const TilingPlan& plan, TensorId t) {
  if (!plan.reorders.spaceToDepth) return indexMap(inner, t);
  Problem there = asked;  // the same elements, moved
  there.formats[static_cast<std::size_t>(t)] =
      t == TensorId::kW ? foldedWeights(asked, formatOf(inner, t).dtype) : formatOf(inner, t);
  return indexMap(there, t);
}

}  // namespace

TileProgram addStaging(TileProgram core, const Problem& problem, const TilingPlan& plan, int lanes,
                       const ResultOps& ops) {
  const Problem inner = coreProblem(problem, plan);
  const PassTensors tensors = tensorsOf(plan.pass);
  ProgramBuilder b(std::move(core));
  for (std::size_t i = 0; i < tensors.count; ++i) {
    const TensorId t = tensors.ids[i];
    const int packed = b.bufferOf(t);
    if (!isReordered(plan.reorders, t) || packed < 0 || (i > 0 && t == tensors.ids[i - 1])) continue;
    const DType kept = formatOf(inner, t).dtype;
    b.makeShared(packed, std::string(toString(t)) + "_" + toString(kept));
    const int outside = b.addTensor(t, formatBytes(problem, t));
    const bool result = isResult(t);
    const DType given = formatOf(problem, t).dtype;
    const IndexMap core = coreMap(problem, inner, plan, t);
    Conversion c{std::string(result ? "unstage_" : "stage_") + toString(t),
                 result ? core : indexMap(problem, t),
                 result ? indexMap(problem, t) : core,
                 Element::kF32,
                 result ? Element::kF32 : storedElement(kept),
                 result ? packed : outside,
                 result ? outside : packed};
    // HF32 is a rounding of what is multiplied, which db does not: memory holds f32.
    (result ? c.toType : c.fromType) = storedElement(given);
    if (!result && isHf32(given) && plan.pass != Pass::kDb) c.toType = elementOf(given);
    const std::size_t before = b.phases();
    Epilogue epilogue(b, ops, lanes);
    if (result && ops.any()) {
      const DataGradient g = makeDataGradient(problem, OneAxis::kOnW);
      epilogue.begin(g.result, g.view.groups, outside);
      c.epilogue = &epilogue;
    }
    addConversion(b, c, lanes);
    epilogue.end();
    if (!result) b.movePhasesToFront(before);
  }
  return b.finish();
}

}  // namespace cubejit
