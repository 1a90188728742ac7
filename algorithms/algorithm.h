// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an algorithm is: one way to compute a pass, with plans of its own. Its folder holds the plan, its candidates, rules, cost
// and lowering; the table names it; nothing else knows it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/kit/gemm_view.h"
#include "algorithms/kit/result_ops.h"
#include "algorithms/kit/rules.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/result.h"

namespace cubejit {

struct TileProgram;

/// What the cost model expects of a plan on one core, in core cycles, and where they go.
struct PlanCost {
  double totalCycles = 0;    ///< of the slowest core: what plans are compared by
  double computeCycles = 0;  ///< FMAs, tails and idle lanes included
  double memoryCycles = 0;   ///< the slowest cache level or DRAM
  double moveCycles = 0;     ///< packing, unpacking, transposes
  double callCycles = 0;     ///< calls and segment overheads
  double packCycles = 0;     ///< the share of moveCycles that a run with kept weights does without
  std::string bound;         ///< "compute", "l2", "l3", "dram", "move"
};

/// Plans that begin with the same reorders; they are plans of what those leave, the core problem.
template <class Plan>
struct CandidatesOf {
  Reorders reorders;
  std::vector<Plan> plans;
};
using Candidates = CandidatesOf<TilingPlan>;

/// All functions are pure and may be called from many threads. A core problem is what a plan's reorders leave of the one asked for.
/// Functions that take a plan must be given one of the algorithm's own.
struct Algorithm {
  const char* name;
  const char* purpose;  ///< what it is for, for people
  Pass pass;
  bool (*owns)(const TilingPlan& plan);
  /// A plan with all decisions at their defaults.
  TilingPlan (*plan)();
  /// Why the algorithm does not take the core problem; empty = it does.
  std::vector<std::string> (*applies)(const Problem& core);
  /// Complete plans worth considering for the problem asked for, in a fixed order; they may break rules.
  std::vector<Candidates> (*candidates)(const Problem& asked, const Machine& machine);
  /// Whether the lowering reads or writes the tensor as the problem has it.
  bool (*takes)(const Problem& problem, const TilingPlan& plan, TensorId tensor);
  /// Notes every rule the plan breaks. Its numbers are at least 1 and it takes all tensors of the core problem.
  void (*rules)(const Problem& core, const TilingPlan& plan, const Machine& machine, Rules& rules);
  PlanCost (*cost)(const Problem& core, const TilingPlan& plan, const Machine& machine);
  /// `ops`: what is done with results; nothing but for dX.
  Result<TileProgram> (*lower)(const Problem& core, const TilingPlan& plan, const Machine& machine,
                               const ResultOps& ops);
  /// What a task works on in the GEMM view, for people.
  Mkn (*singleShape)(const Problem& core, const TilingPlan& plan);
  /// Whether dX of the plan packs all weights in a phase of their own, so that they can be kept between runs.
  bool (*packsBeforehand)(const TilingPlan& plan);
  /// Decides what depends on the cost of a legal plan.
  void (*settle)(const Problem& core, TilingPlan& plan, const PlanCost& cost, const Machine& machine);
  /// In how many parts the pixels are summed apart; null if they are not.
  std::int64_t* (*reductionParts)(TilingPlan& plan);
};

/// The algorithms of this build, in the table's order.
const std::vector<const Algorithm*>& algorithms();

/// The plan's algorithm; null if it is an NPU's.
const Algorithm* algorithmOf(const TilingPlan& plan);
/// The algorithm of the name for the pass; null if this build has none.
const Algorithm* algorithmNamed(std::string_view name, Pass pass);
/// Names for messages, a comma between two; db has only one.
std::string algorithmNames();

/// Makes an algorithm of a room: a struct with the plan's type and static functions of plans of that type. `applies`, `packsBeforehand` and
/// `settle` may be left out.
template <class Room>
Algorithm makeAlgorithm() {
  using Plan = typename Room::Plan;
  Algorithm a{};
  a.name = Plan::kName;
  a.purpose = Room::kPurpose;
  a.pass = Plan::kPass;
  a.owns = [](const TilingPlan& plan) { return plan.is<Plan>(); };
  a.plan = [] { return TilingPlan(Plan{}); };
  a.applies = [](const Problem& core) -> std::vector<std::string> {
    if constexpr (requires { Room::applies(core); }) return Room::applies(core);
    return {};
  };
  a.candidates = [](const Problem& asked, const Machine& machine) {
    std::vector<Candidates> out;
    for (CandidatesOf<Plan>& group : Room::candidates(asked, machine)) {
      out.push_back({group.reorders, {}});
      out.back().plans.reserve(group.plans.size());
      for (Plan& plan : group.plans) out.back().plans.emplace_back(std::move(plan), group.reorders);
    }
    return out;
  };
  a.takes = [](const Problem& p, const TilingPlan& plan, TensorId t) { return Room::takes(p, plan.as<Plan>(), t); };
  a.rules = [](const Problem& core, const TilingPlan& plan, const Machine& machine, Rules& rules) {
    if constexpr (requires { Room::rules(core, plan.as<Plan>(), plan.reorders, machine, rules); })
      Room::rules(core, plan.as<Plan>(), plan.reorders, machine, rules);
    else
      Room::rules(core, plan.as<Plan>(), machine, rules);
  };
  a.cost = [](const Problem& core, const TilingPlan& plan, const Machine& machine) {
    return Room::cost(core, plan.as<Plan>(), machine);
  };
  a.lower = Room::lower;
  a.singleShape = [](const Problem& core, const TilingPlan& plan) {
    if constexpr (Plan::kPass == Pass::kDx) return dataShape(core, Room::pixelRows(plan.as<Plan>()));
    return weightShape(core);
  };
  a.packsBeforehand = [](const TilingPlan& plan) {
    if constexpr (requires { Room::packsBeforehand(plan.as<Plan>()); })
      return Room::packsBeforehand(plan.as<Plan>());
    else
      return true;
  };
  a.settle = [](const Problem& core, TilingPlan& plan, const PlanCost& cost, const Machine& machine) {
    if constexpr (requires { Room::settle(core, plan.as<Plan>(), plan.reorders, cost, machine); })
      Room::settle(core, plan.as<Plan>(), plan.reorders, cost, machine);
  };
  a.reductionParts = [](TilingPlan& plan) -> std::int64_t* {
    if constexpr (requires { plan.as<Plan>().reductionParts; }) return &plan.as<Plan>().reductionParts;
    return nullptr;
  };
  return a;
}

}  // namespace cubejit
