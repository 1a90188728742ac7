// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans are legal for a problem and machine; every rule broken is named with its values and a fix. Leaves what an
// algorithm asks of its plans to the algorithm.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "algorithms/algorithm.h"
#include "algorithms/cube/bias_plan.h"
#include "algorithms/kit/adjoint.h"
#include "algorithms/kit/reorder.h"
#include "cubejit/npu.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

std::string fieldOf(TensorId t) { return isResult(t) ? "reorder_result" : std::string("reorder_") + toString(t); }

// What the lowering does not take as it is must be reordered first.
void checkReorders(const Algorithm& algorithm, const Problem& p, const TilingPlan& plan, Rules& rules) {
  const PassTensors tensors = tensorsOf(plan.pass);
  for (std::size_t i = 0; i < tensors.count; ++i) {
    const TensorId t = tensors.ids[i];
    rules.require(isReordered(plan.reorders, t) || algorithm.takes(p, plan, t), [&] {
      const TensorFormat f = formatOf(p, t);
      return fieldOf(t) + " must be true: the " + algorithm.name + " algorithm cannot take " + toString(t) + " as " +
             toString(f.dtype) + " " + toString(f.layout) + (f.strided() ? " with strides" : "");
    });
  }
}

void checkFold(const Problem& p, const TilingPlan& plan, Rules& rules) {
  if (!plan.reorders.spaceToDepth) return;
  rules.require(plan.pass == Pass::kDx && foldable(p),
                "space_to_depth is for dx of one group where the kernel is as wide as its stride and windows cover the "
                "larger tensor without padding along W");
  rules.require(plan.reorders.w || weightsFoldInPlace(p), "space_to_depth needs reorder_w");
  const TensorId folded = foldedTensor(p);
  rules.require(foldsInPlace(p) || isReordered(plan.reorders, folded), [&] {
    return std::string("space_to_depth needs ") + toString(folded) + " channels-last, or " +
           (folded == TensorId::kDy ? "reorder_dy" : "reorder_result");
  });
}

void checkRounding(const Algorithm& algorithm, const Problem& p, const TilingPlan& plan, Rules& rules) {
  if (!plan.reorders.toBf16) return;
  const std::optional<Reorders> rounding = roundingReorders(p, plan.pass);
  rules.require(rounding.has_value(), [&] {
    return std::string("reorder_to_bf16 rounds operands of f32 where math = bf16 allows it (--math bf16): math is ") +
           toString(p.math) + ", and no operand of " + toString(plan.pass) +
           " may be of another type than f32 and bf16";
  });
  if (!rounding) return;
  const Problem core = coreProblem(p, plan);
  const PassTensors tensors = tensorsOf(plan.pass);
  for (std::size_t i = 0; i + 1 < tensors.count; ++i) {
    const TensorId t = tensors.ids[i];
    rules.require(!isReordered(*rounding, t) || isReordered(plan.reorders, t),
                  [&] { return "reorder_to_bf16 needs " + fieldOf(t); });
    rules.require(algorithm.takes(core, plan, t), [&] {
      return "reorder_to_bf16 must be false: the " + std::string(algorithm.name) + " algorithm cannot take " +
             toString(t) + " as bf16";
    });
  }
}

// Numbers that rules, costs and lowerings may multiply by strides and extents without leaving 64 bits: a microkernel spells out what it
// holds in registers and unrolls, and nothing has more parts or rows than a problem's axis may have positions (check_problem).
constexpr std::int64_t kMostSpelledOut = 4096;
constexpr std::int64_t mostOf(std::string_view field) {
  const bool spelledOut = field.substr(0, 9) == "register_" || field == "unroll" || field == "broadcast_taps";
  return spelledOut ? kMostSpelledOut : std::numeric_limits<std::int32_t>::max();
}

void checkRanges(const TilingPlan& plan, Rules& rules) {
  describePlan(plan, [&](const char* name, const auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::int64_t>) {
      if (field >= 1 && field <= kMostSpelledOut) return;  // a search checks thousands of plans
      rules.positive(name, field);
      rules.require(field <= mostOf(name), [&] {
        return std::string(name) + " = " + std::to_string(field) + " must be at most " + std::to_string(mostOf(name));
      });
    }
  });
}

}  // namespace

std::vector<std::string> checkPlan(const Problem& asked, const TilingPlan& plan, const Machine& machine) {
  if (machine.isEmulated())
    return plan.pass == Pass::kDb ? checkBiasPlan(asked, plan, machine) : checkOnNpu(asked, plan, machine);
  if (plan.pass == Pass::kY) return inForwardWords(checkPlan(adjointOf(asked), asData(plan), machine));
  const Algorithm* algorithm = algorithmOf(plan);
  if (algorithm == nullptr)
    return {std::string("the plan is of the algorithm ") + algorithmName(plan) + ", which " + machine.name +
            " has not: plan for this machine"};
  if (algorithm->pass != plan.pass)
    return {std::string("the plan's pass is ") + toString(plan.pass) + ", but its algorithm's is " +
            toString(algorithm->pass)};
  Rules rules;
  checkFold(asked, plan, rules);
  if (std::vector<std::string> broken = rules.take(); !broken.empty()) return broken;
  checkReorders(*algorithm, asked, plan, rules);
  checkRounding(*algorithm, asked, plan, rules);
  checkRanges(plan, rules);
  if (std::vector<std::string> broken = rules.take(); !broken.empty()) return broken;
  if (plan.reorders.any())
    algorithm->rules(coreProblem(asked, plan), plan, machine, rules);
  else
    algorithm->rules(asked, plan, machine, rules);
  return rules.take();
}

}  // namespace cubejit
