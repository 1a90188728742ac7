// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the form of a plan: what all plans share, and the plan of one algorithm. It is every choice the generator needs beyond the
// problem itself, as one plain value; enumerated and checked by tiling/, lowered by algorithms/, and may be written by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "cubejit/algorithm_plans.h"
#include "cubejit/algorithms/cube/plan.h"
#include "cubejit/plan_parts.h"
#include "cubejit/problem.h"

namespace cubejit {

/// What becomes of weights between runs.
enum class WeightsUse : std::uint8_t {
  kEachRun,  ///< every run reads w, and packs it if its plan does
  kKept      ///< they are packed once, by Executable::packWeights(), for as many runs as the caller likes
};

/// Tensors converted as a whole into (or, the result, out of) f32 in the workspace, because the algorithm does not take them as they
/// lie; or operands into bf16. Activations become channels-last, weights plain; coreProblem() is what is left to solve.
struct Reorders {
  bool dy = false, x = false, w = false, result = false;
  /// dX, y of kernels as wide as their stride: the larger tensor is seen as a column for each window, of kernel.w times its channels. Needs
  /// `w`: taps along W become channels there. See foldable().
  bool spaceToDepth = false;
  /// Operands of f32 are converted to bf16, all of them, which MathMode::kBf16 allows. See roundingReorders().
  bool toBf16 = false;
  bool any() const { return dy || x || w || result || spaceToDepth; }
  friend bool operator==(const Reorders& a, const Reorders& b) {
    return a.dy == b.dy && a.x == b.x && a.w == b.w && a.result == b.result && a.spaceToDepth == b.spaceToDepth &&
           a.toBf16 == b.toBf16;
  }
  friend bool operator!=(const Reorders& a, const Reorders& b) { return !(a == b); }
};

/// One way to compute one pass, on the host or on an NPU.
struct TilingPlan {
  Pass pass = Pass::kDx;
  PlanBackend backend = PlanBackend::kSession;
  Reorders reorders;
  AlgorithmPlan algorithm;  ///< the algorithm and its decisions

  TilingPlan() = default;
  /// A plan of the host: its algorithm's plan says of which pass.
  template <class Plan, Pass = Plan::kPass>
  TilingPlan(Plan plan, const Reorders& first = {})  // NOLINT: implicit by design
      : pass(Plan::kPass), reorders(first), algorithm(std::move(plan)) {}
  TilingPlan(Pass g, const CubePlan& cube) : pass(g), algorithm(cube) {}

  template <class Plan>
  bool is() const {
    return std::holds_alternative<Plan>(algorithm);
  }
  /// Precondition: is<Plan>().
  template <class Plan>
  Plan& as() {
    return *std::get_if<Plan>(&algorithm);
  }
  template <class Plan>
  const Plan& as() const {
    return *std::get_if<Plan>(&algorithm);
  }
  /// Precondition: it is an NPU's plan.
  CubePlan& cube() { return as<CubePlan>(); }
  const CubePlan& cube() const { return as<CubePlan>(); }
};

/// The algorithm's name, as in --algorithm: "direct", "spatial", ...; "cube" on an NPU.
inline const char* algorithmName(const TilingPlan& plan) {
  return std::visit([](const auto& p) { return std::decay_t<decltype(p)>::kName; }, plan.algorithm);
}

/// The version of fields' names and meanings: plans written as JSON (`cubejit plan --json`, pins, tuning records) say it, and those of another are
/// refused.
constexpr std::int64_t kPlanVersion = 2;

/// Calls v(name, field) for every field but the pass and which algorithm it is; printing, JSON, hashing, comparison and tuning are
/// written against it.
template <class P, class Visitor>
void describePlan(P& p, Visitor&& v) {
  if (!p.template is<CubePlan>()) {
    v("backend", p.backend);
    const bool forward = p.pass == Pass::kY, data = forward || p.pass == Pass::kDx;
    v(forward ? "reorder_x" : "reorder_dy", p.reorders.dy);  // of y it is x that is in the place of dy
    if (p.pass == Pass::kDw) v("reorder_x", p.reorders.x);
    if (data) v("reorder_w", p.reorders.w);
    v("reorder_result", p.reorders.result);
    if (data) v("space_to_depth", p.reorders.spaceToDepth);
    if (p.pass != Pass::kDb) v("reorder_to_bf16", p.reorders.toBf16);
  }
  std::visit([&](auto& plan) { std::decay_t<decltype(plan)>::describe(plan, v); }, p.algorithm);
}

/// What plans have in common that cannot be told apart by numbers alone: the algorithm, and what its plans vectorise. "direct:channels".
inline std::string planFamily(const TilingPlan& plan) {
  std::string family = algorithmName(plan);
  std::visit(
      [&](const auto& p) {
        using Plan = std::decay_t<decltype(p)>;
        Plan::describe(p, [&](const char* name, const auto& field) {
          if constexpr (std::is_enum_v<std::decay_t<decltype(field)>>) {
            if (!Plan::varies(name)) family += std::string(":") + toString(field);
          }
        });
      },
      plan.algorithm);
  return family;
}

/// Whether a tuner may change the field: an algorithm says which of its fields it can vary.
inline bool planVaries(const TilingPlan& plan, std::string_view field) {
  return std::visit([&](const auto& p) { return std::decay_t<decltype(p)>::varies(field); }, plan.algorithm);
}

/// A copy of a whole tensor that a run makes in its workspace, in the format that its programs take; `bytes` of the copy.
struct TensorCopy {
  TensorId tensor = TensorId::kX;
  std::int64_t bytes = 0;
};

}  // namespace cubejit
