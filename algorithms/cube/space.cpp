// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: as the planner ranks, so that its choice comes first.
#include "algorithms/cube/space.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "algorithms/cube/candidates.h"
#include "algorithms/cube/cost.h"
#include "algorithms/cube/rules.h"

namespace cubejit {
namespace {

// Times the cycles of the best plan: what a tuner looks at.
constexpr double kWorthTrying = 1.25;

PlanCost told(const CubeCost& cost) {
  PlanCost out;
  out.totalCycles = cost.totalCycles;
  out.bound = boundOf(cost);
  return out;
}

}  // namespace

std::vector<Candidate> legalCubePlans(const Problem& problem, Pass pass, const Machine& machine) {
  const CubeWork work = cubeWorkOf(problem, pass, machine);
  struct Ranked {
    Candidate candidate;
    double slowestCore;
  };
  std::vector<Ranked> ranked;
  double least = std::numeric_limits<double>::infinity();
  visitCubeCandidates(
      work, machine, CubeFixed{},
      [&](const TilingPlan& plan) {
        if (!checkCubePlan(work, plan, machine).empty()) return;
        const CubeCost cost = cubeCost(work, plan, machine, kWorthTrying * least);
        if (!cost.exact) return;
        least = std::min(least, cost.totalCycles);
        ranked.push_back({Candidate{plan, told(cost), {}}, cost.slowestCore});
      },
      [&](const LeastCost& plans) { return plans.total() <= kWorthTrying * least; });
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    const double x = a.candidate.cost.totalCycles, y = b.candidate.cost.totalCycles;
    return x != y ? x < y : a.slowestCore < b.slowestCore;
  });
  std::vector<Candidate> out;
  out.reserve(ranked.size());
  for (Ranked& r : ranked) {
    if (r.candidate.cost.totalCycles <= kWorthTrying * least) out.push_back(std::move(r.candidate));
  }
  return out;
}

PlanCost cubePlanCost(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  return told(cubeCost(cubeWorkOf(problem, plan.pass, machine), plan, machine));
}

TilingPlan withCubeSplit(const Problem& problem, TilingPlan plan, const Machine& machine) {
  const CubeWork work = cubeWorkOf(problem, plan.pass, machine);
  const bool dx = plan.pass == Pass::kDx;
  const std::int64_t pixels = work.pixels.h * work.row();
  Mkn& s = plan.cube().singleShape;
  s.m = std::min(s.m, dx ? pixels : work.gemm.m);
  s.k = std::min(s.k, dx ? work.gemm.k * work.kernel.d : pixels);
  s.n = std::min(s.n, work.gemm.n);
  plan.cube().cores = splitOf(work, s);
  return plan;
}

}  // namespace cubejit
