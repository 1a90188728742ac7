// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides mutations. They are written against describePlan: a decision added to plans is searched, too.
#include "runtime/tuning/search_space.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tiling/legal_plans.h"

namespace cubejit {
namespace {

// The gradient and the unit are not choices, lane roles differ in everything (each has candidates of its own). Single shapes follow
// on the host; on an NPU they are decided, and the split among cores follows.
bool isDecision(PlanUnit unit, std::string_view name) {
  if (name == "gradient" || name == "unit" || name == "lanes" || name == "operand") return false;
  return name.substr(0, 5) == "core_" ? unit == PlanUnit::kVector
                                      : name.substr(0, 12) != "single_shape" || unit == PlanUnit::kCube;
}

std::vector<std::int64_t> numbersOf(const TilingPlan& plan) {
  std::vector<std::int64_t> numbers;
  describePlan(plan, [&](const char* name, const auto& field) {
    if (isDecision(plan.unit, name)) numbers.push_back(static_cast<std::int64_t>(field));
  });
  return numbers;
}

std::vector<std::int64_t> identityOf(const TilingPlan& plan) {
  std::vector<std::int64_t> identity = numbersOf(plan);
  identity.push_back(static_cast<std::int64_t>(plan.lanes));
  return identity;
}

void setNumber(TilingPlan& plan, std::size_t index, std::int64_t value) {
  std::size_t i = 0;
  describePlan(plan, [&](const char* name, auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if (isDecision(plan.unit, name) && i++ == index) field = static_cast<Field>(value);
  });
}

// How many values a decision has; 0 = it is a number.
int valuesOf(std::int64_t) { return 0; }
int valuesOf(bool) { return 2; }
int valuesOf(IterateOrder) { return 2; }
int valuesOf(BlockOrder) { return 2; }
int valuesOf(Prefetch) { return static_cast<int>(Prefetch::kOperands) + 1; }
template <class Other>
int valuesOf(Other) {
  return 1;  // not a decision of this kind of plan
}

std::vector<int> choicesOf(const TilingPlan& plan, bool llvm) {
  std::vector<int> choices;
  describePlan(plan, [&](const char* name, const auto& field) {
    if (!isDecision(plan.unit, name)) return;
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, PlanBackend>)
      choices.push_back(llvm ? 2 : 1);
    else
      choices.push_back(valuesOf(field));
  });
  return choices;
}

}  // namespace

Result<SearchSpace> SearchSpace::of(const Problem& problem, Gradient gradient, const Machine& machine, bool llvm) {
  SearchSpace space;
  space.problem_ = problem;
  space.machine_ = machine;
  space.llvm_ = llvm;
  CUBEJIT_TRY(legal, legalPlans(problem, gradient, machine));
  std::set<std::vector<std::int64_t>> seen;
  for (const Candidate& candidate : legal) {
    if (seen.insert(identityOf(candidate.plan)).second) space.plans_.push_back({candidate.plan, candidate.cost});
  }
  return space;
}

SearchSpace SearchSpace::among(const Problem& problem, const Machine& machine, std::vector<SearchPlan> plans) {
  SearchSpace space;
  space.problem_ = problem;
  space.machine_ = machine;
  space.plans_ = std::move(plans);
  std::stable_sort(space.plans_.begin(), space.plans_.end(),
                   [](const SearchPlan& a, const SearchPlan& b) { return a.cost.totalCycles < b.cost.totalCycles; });
  for (const SearchPlan& plan : space.plans_) space.closedTo_.insert(identityOf(plan.plan));
  return space;
}

std::vector<SearchPlan> SearchSpace::mutations(const TilingPlan& plan, std::mt19937_64& random) const {
  const std::vector<std::int64_t> now = numbersOf(plan);
  const std::vector<int> choices = choicesOf(plan, llvm_);
  std::set<std::pair<std::size_t, std::int64_t>> changes;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (choices[i] > 0) {
      for (int value = 0; value < choices[i]; ++value) changes.insert({i, value});
      continue;
    }
    for (const std::int64_t value : {now[i] - 1, now[i] + 1, now[i] * 2, now[i] / 2}) changes.insert({i, value});
  }
  std::vector<std::int64_t> steps = now;  // what a number is a multiple of, as far as candidates tell
  for (const SearchPlan& other : plans_) {
    if (other.plan.lanes != plan.lanes) continue;
    const std::vector<std::int64_t> numbers = numbersOf(other.plan);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      changes.insert({i, numbers[i]});
      steps[i] = std::gcd(steps[i], numbers[i]);
    }
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (choices[i] == 0) changes.insert({{i, now[i] - steps[i]}, {i, now[i] + steps[i]}});
  }
  std::vector<SearchPlan> out;
  std::set<std::vector<std::int64_t>> seen{now};  // what follows from a change may undo it
  for (const auto& [index, value] : changes) {
    if (value == now[index] || value < (choices[index] == 0 ? 1 : 0) || value > (std::int64_t{1} << 40)) continue;
    if (choices[index] > 0 && value >= choices[index]) continue;
    SearchPlan changed{plan, {}};
    setNumber(changed.plan, index, value);
    changed.plan = completed(problem_, changed.plan, machine_);
    if (!seen.insert(numbersOf(changed.plan)).second) continue;
    if (!closedTo_.empty() && closedTo_.count(identityOf(changed.plan)) == 0) continue;
    if (!checkPlan(problem_, changed.plan, machine_).empty()) continue;
    changed.cost = planCost(problem_, changed.plan, machine_);
    out.push_back(std::move(changed));
  }
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

}  // namespace cubejit
