// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an algorithm is: one way to compute a pass, with plans of its own. Its folder holds the plan's candidates, rules, cost and
// lowering; the table names it; nothing else knows it.
#pragma once

#include <string>
#include <vector>

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
struct Candidates {
  Reorders reorders;
  std::vector<TilingPlan> plans;
};

/// All functions are pure and may be called from many threads. A core problem is what a plan's reorders leave of the one asked for.
struct Algorithm {
  const char* name;
  const char* purpose;  ///< what it is for, for people
  GradientMask passes;
  bool (*owns)(const TilingPlan& plan);
  /// Why the algorithm does not take the core problem; empty = it does. Null: it takes all.
  std::vector<std::string> (*applies)(const Problem& core, Gradient gradient, const Machine& machine);
  /// Complete plans worth considering for the problem asked for, in a fixed order; they may break rules.
  std::vector<Candidates> (*candidates)(const Problem& asked, Gradient gradient, const Machine& machine);
  /// Whether the lowering reads or writes the tensor as the problem has it.
  bool (*takes)(const Problem& problem, const TilingPlan& plan, TensorId tensor);
  /// Notes every rule the plan breaks. Its numbers are at least 1 and it takes all tensors of the core problem.
  void (*rules)(const Problem& core, const TilingPlan& plan, const Machine& machine, Rules& rules);
  PlanCost (*cost)(const Problem& core, const TilingPlan& plan, const Machine& machine);
  Result<TileProgram> (*lower)(const Problem& core, const TilingPlan& plan, const Machine& machine);
  /// Whether dX of the plan packs all weights in a phase of their own, so that they can be kept between runs. Null: always.
  bool (*packsBeforehand)(const TilingPlan& plan);
  /// Whether storing past the caches pays for a legal plan of that cost. Null: the algorithm cannot.
  bool (*streamingPays)(const Problem& core, const TilingPlan& plan, const PlanCost& cost, const Machine& machine);
};

/// The algorithms of this build, in the table's order.
const std::vector<const Algorithm*>& algorithms();

/// The plan's algorithm; null if this build leaves it out.
const Algorithm* algorithmOf(const TilingPlan& plan);

}  // namespace cubejit
