// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the model: strips do not overlap, and each of them is read, widened if it is of 16 bits, and added.
#include "algorithms/cube/bias_plan.h"

#include <algorithm>

#include "cubejit/machines.h"
#include "tiling/check_problem.h"
#include "tiling/rounding.h"
#include "tiling/rule_lines.h"

namespace cubejit {

std::vector<std::string> checkBiasPlan(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  std::vector<std::string> broken = checkMachine(machine);
  if (const Status legal = checkProblem(problem); !legal.ok()) broken.push_back(legal.error().message);
  if (!plan.is<CubePlan>())
    broken.push_back(std::string("algorithm = ") + algorithmName(plan) + " must be cube on " + machine.name);
  return broken;
}

PlanCost biasPlanCost(const Problem& problem, const Machine& machine) {
  constexpr std::int64_t kRun = 32;
  const std::int64_t element = byteSize(formatOf(problem, TensorId::kDy).dtype), c0 = kRun / element;
  const double blocks = static_cast<double>(ceilDiv(ceilDiv(problem.cout, c0), machine.cores));
  const double elements = blocks * static_cast<double>(problem.batch * problem.out.volume() * c0);
  const auto over = [](double bytes, double rate) { return rate > 0 ? bytes / rate : 0; };
  PlanCost cost;
  cost.memoryCycles = over(elements * static_cast<double>(element), machine.npu.paths.l2Read);
  cost.moveCycles = over(elements * 4 * (element == 4 ? 1 : 2), static_cast<double>(machine.npu.vectorBytes));
  cost.totalCycles = cost.memoryCycles + cost.moveCycles;
  cost.bound = cost.memoryCycles > cost.moveCycles ? "memory" : "vector";
  return cost;
}

Result<PlanChoice> chooseBiasPlan(const Problem& problem, const Machine& machine) {
  PlanChoice choice;
  choice.plan = TilingPlan(Pass::kDb, CubePlan{});
  const std::vector<std::string> broken = checkBiasPlan(problem, choice.plan, machine);
  if (!broken.empty()) return invalidInput(inLines(broken), Stage::kPlan);
  choice.cost = biasPlanCost(problem, machine);
  choice.considered.push_back(Candidate{choice.plan, choice.cost, {}});
  return choice;
}

}  // namespace cubejit
