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

std::vector<std::int64_t> numbersOf(const TilingPlan& plan) {
  std::vector<std::int64_t> numbers;
  describePlan(plan, [&](const char* name, const auto& field) {
    if (planVaries(plan, name)) numbers.push_back(static_cast<std::int64_t>(field));
  });
  return numbers;
}

SearchSpace::Identity identityOf(const TilingPlan& plan) { return {planFamily(plan), numbersOf(plan)}; }

void setNumber(TilingPlan& plan, std::size_t index, std::int64_t value) {
  std::size_t i = 0;
  describePlan(plan, [&](const char* name, auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if (planVaries(plan, name) && i++ == index) field = static_cast<Field>(value);
  });
}

std::vector<int> choicesOf(const TilingPlan& plan, bool llvm) {
  std::vector<int> choices;
  describePlan(plan, [&](const char* name, const auto& field) {
    if (!planVaries(plan, name)) return;
    using Field = std::decay_t<decltype(field)>;
    // How many values it has; 0 = it is a number.
    if constexpr (std::is_same_v<Field, PlanBackend>)
      choices.push_back(llvm ? 2 : 1);
    else if constexpr (std::is_enum_v<Field>)
      choices.push_back(static_cast<int>(allValues(Field{}).size()));
    else
      choices.push_back(std::is_same_v<Field, bool> ? 2 : 0);
  });
  return choices;
}

}  // namespace

Result<SearchSpace> SearchSpace::of(const Problem& problem, Pass pass, const Machine& machine, bool llvm) {
  SearchSpace space;
  space.problem_ = problem;
  space.machine_ = machine;
  space.llvm_ = llvm;
  CUBEJIT_TRY(legal, legalPlans(problem, pass, machine));
  std::set<Identity> seen;
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
  const std::string family = planFamily(plan);
  std::vector<std::int64_t> steps = now;  // what a number is a multiple of, as far as candidates tell
  for (const SearchPlan& other : plans_) {
    if (planFamily(other.plan) != family) continue;
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
