// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides mutations. They are written against describePlan: a decision added to plans is searched, too.
#include "runtime/tuning/search_space.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cubejit {
namespace {

// The gradient and the unit are not choices, lane roles differ in everything (each has candidates of its own), and single shapes follow.
bool isDecision(std::string_view name) {
  return name != "gradient" && name != "unit" && name != "lanes" && name.substr(0, 12) != "single_shape";
}

std::vector<std::int64_t> numbersOf(const TilingPlan& plan) {
  std::vector<std::int64_t> numbers;
  describePlan(plan, [&](const char* name, const auto& field) {
    if (isDecision(name)) numbers.push_back(static_cast<std::int64_t>(field));
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
    if (isDecision(name) && i++ == index) field = static_cast<Field>(value);
  });
}

// How many values a decision has; 0 = it is a number.
std::vector<int> choicesOf(const TilingPlan& plan) {
  std::vector<int> choices;
  describePlan(plan, [&](const char* name, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if (isDecision(name)) choices.push_back(std::is_same_v<Field, std::int64_t> ? 0 : 2);
  });
  return choices;
}

}  // namespace

Result<SearchSpace> SearchSpace::of(const Problem& problem, Gradient gradient, const Machine& machine) {
  SearchSpace space;
  space.problem_ = problem;
  space.machine_ = machine;
  CUBEJIT_TRY(choice, choosePlan(problem, gradient, machine, true));
  std::set<std::vector<std::int64_t>> seen;
  for (const Candidate& candidate : choice.considered) {
    if (!candidate.refusedBy.empty()) break;  // refused ones come last
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
  const std::vector<int> choices = choicesOf(plan);
  std::set<std::pair<std::size_t, std::int64_t>> changes;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (choices[i] > 0) {
      for (int value = 0; value < choices[i]; ++value) changes.insert({i, value});
      continue;
    }
    for (const std::int64_t value : {now[i] - 1, now[i] + 1, now[i] * 2, now[i] / 2}) changes.insert({i, value});
  }
  for (const SearchPlan& other : plans_) {
    if (other.plan.lanes != plan.lanes) continue;
    const std::vector<std::int64_t> numbers = numbersOf(other.plan);
    for (std::size_t i = 0; i < numbers.size(); ++i) changes.insert({i, numbers[i]});
  }
  std::vector<SearchPlan> out;
  for (const auto& [index, value] : changes) {
    if (value == now[index] || value < 0 || value > (std::int64_t{1} << 40)) continue;
    SearchPlan changed{plan, {}};
    setNumber(changed.plan, index, value);
    if (!closedTo_.empty() && closedTo_.count(identityOf(changed.plan)) == 0) continue;
    if (!checkPlan(problem_, changed.plan, machine_).empty()) continue;
    changed.plan.singleShape = singleShapeOf(problem_, changed.plan);
    changed.cost = planCost(problem_, changed.plan, machine_);
    out.push_back(std::move(changed));
  }
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

}  // namespace cubejit
