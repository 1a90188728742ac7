// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the door to planning: enumerate complete plans, refuse the illegal ones with reasons, cost the rest, pick.
//
// Where the numbers of a plan come from:
//   singleShapeM/K/N  what one task computes in the GEMM view. On a chip a decision: algorithms/cube/candidates.cpp enumerates it, and it is
//                     CubePlan::singleShape. On the host it follows from the cache and reduction blocks (cache_*, reduction_*) that the
//                     algorithm's candidates.cpp enumerates; singleShapeOf() tells it.
//   core splits       On a chip the counts of tasks that the single shape leaves (CubePlan::cores, splitOf() in algorithms/cube/rules.h);
//                     cores take equal runs of them (core_shares.h). On the host `*_parts` and the blocks' counts make tasks, which
//                     threads take from a counter; sums that are split are added in the order of their parts.
//   base blocks       On a chip base.m/k/n, what fills L0A, L0B and L0C; on the host register_*, what accumulators hold.
#pragma once

#include <string>
#include <vector>

#include "algorithms/algorithm.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/result.h"

namespace cubejit {

struct Candidate {
  TilingPlan plan;
  PlanCost cost{};
  std::vector<std::string> refusedBy;  ///< rules broken; empty = legal
};

struct PlanChoice {
  TilingPlan plan;
  PlanCost cost;
  std::vector<Candidate> considered;  ///< only filled when asked to explain; best first, refused last
};

/// Picks a plan for one pass. `problem` must have passed checkProblem. Pure.
/// With kept weights only plans of dx that pack all weights beforehand are considered, and packing costs nothing.
/// `algorithm`: only its plans are considered, by name; empty = all (db has but one algorithm, an NPU's cube too).
Result<PlanChoice> choosePlan(const Problem& problem, Pass pass, const Machine& machine, bool explain,
                              WeightsUse weights = WeightsUse::kEachRun, const std::string& algorithm = {});

/// Core cycles of converting a tensor of the problem from or to a copy whose elements have another type, on one core.
double conversionCycles(const Problem& problem, TensorId t, DType copied, const Machine& machine);

/// What the cost model expects of a legal plan.
PlanCost planCost(const Problem& problem, const TilingPlan& plan, const Machine& machine);

/// The copies of whole tensors that a run of a legal plan makes: of operands before it computes, of the result until it is done.
std::vector<TensorCopy> copiesOf(const Problem& problem, const TilingPlan& plan);

/// What a task of the plan works on in the GEMM view, for people.
Mkn singleShapeOf(const Problem& problem, const TilingPlan& plan);

/// Every rule the plan breaks for this problem and machine, one per entry with values and a fix; empty = legal.
std::vector<std::string> checkPlan(const Problem& problem, const TilingPlan& plan, const Machine& machine);

}  // namespace cubejit
