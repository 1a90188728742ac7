// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many pixel ranges a bias gradient is summed in.
#include "algorithms/bias/bias.h"
#include "algorithms/bias/sums.h"

#include "algorithms/kit/rates.h"
#include "tiling/work_limit.h"

namespace cubejit {
namespace {

constexpr std::int64_t kMostBiasParts = 1 << 16;  // steps of a loop

}  // namespace

std::vector<BiasPlan> biasCandidates(const Problem& problem, const Machine& m) {
  std::vector<BiasPlan> out;
  BiasPlan plan;
  plan.registerVectors = std::clamp<std::int64_t>(divUp(problem.cout, m.isa.lanes()), 1, m.isa.vectorRegs / 4);
  const std::int64_t least = biasSums(makeConvView(problem, Pass::kDb), m.isa.lanes()).leastParts();
  limitWork(static_cast<double>(least), kMostBiasParts, "parts of a sum");
  for (const std::int64_t parts : {std::int64_t{1}, std::int64_t{m.cores}, std::int64_t{4} * m.cores}) {
    plan.reductionParts = std::max(parts, least);
    out.push_back(plan);
  }
  return out;
}

PlanCost biasCost(const Problem& problem, const BiasPlan& plan, const Machine& m) {
  PlanCost cost;
  const auto elements = static_cast<double>(yElements(problem));
  const double bytes = elements * static_cast<double>(byteSize(formatOf(problem, TensorId::kDy).dtype)),
               lanes = m.isa.lanes();
  const double parts = static_cast<double>(plan.reductionParts);
  const double blocks = static_cast<double>(divUp(problem.cout, plan.registerVectors * m.isa.lanes()));
  cost.memoryCycles = bytes / bytesPerCycle(m, bytes, true);
  cost.computeCycles = elements / lanes;
  cost.callCycles = parts * static_cast<double>(problem.cout) / lanes * 40.0 + parts * blocks * kCallCycles;
  // In plain tensors a channel's sum is a whole vector until the end.
  const ConvView v = makeConvView(problem, Pass::kDb);
  const TensorView& y = v.bigIsX ? v.small : v.big;
  const double sums = parts * static_cast<double>(problem.cout) * 4.0 * (y.channelsLast || y.c0 > 0 ? 1.0 : lanes);
  cost.moveCycles = 2.0 * sums / bytesPerCycle(m, sums, true);
  const double tasks = parts * blocks;
  cost.totalCycles = std::max(cost.memoryCycles, cost.computeCycles) / m.cores * imbalance(tasks, m.cores) +
                     cost.callCycles + cost.moveCycles;
  cost.bound = "memory";
  return cost;
}

}  // namespace cubejit
