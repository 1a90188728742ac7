// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tests that are not an algorithm's own make plans and look into them: by the names that JSON has.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "algorithms/algorithm.h"
#include "tiling/planner.h"

namespace cubejit {

/// A plan of the algorithm with all decisions at their defaults.
inline TilingPlan defaultPlan(std::string_view algorithm, Pass pass) {
  if (const Algorithm* a = algorithmNamed(algorithm, pass)) return a->plan();
  ADD_FAILURE() << "there is no algorithm " << algorithm << " of " << toString(pass);
  return {};
}

/// All plans that the algorithm proposes, with the reorders they need.
inline std::vector<TilingPlan> proposedPlans(std::string_view algorithm, const Problem& problem, Pass pass,
                                             const Machine& machine) {
  std::vector<TilingPlan> plans;
  if (const Algorithm* a = algorithmNamed(algorithm, pass)) {
    for (const Candidates& group : a->candidates(problem, machine))
      plans.insert(plans.end(), group.plans.begin(), group.plans.end());
  }
  return plans;
}

/// Some of those that are legal, at most so many.
inline std::vector<TilingPlan> someLegalPlans(const Algorithm& algorithm, const Problem& problem,
                                              const Machine& machine, std::size_t most, std::mt19937_64& random) {
  std::vector<TilingPlan> plans = proposedPlans(algorithm.name, problem, algorithm.pass, machine), out;
  std::shuffle(plans.begin(), plans.end(), random);
  for (const TilingPlan& plan : plans) {
    if (out.size() < most && checkPlan(problem, plan, machine).empty()) out.push_back(plan);
  }
  return out;
}

/// What a test of each algorithm is called: "direct_dx".
inline std::string algorithmTestName(const testing::TestParamInfo<const Algorithm*>& info) {
  return std::string(info.param->name) + "_" + toString(info.param->pass);
}

/// The number (choices are numbered); -1 if the plan has no such field.
inline std::int64_t fieldOf(const TilingPlan& plan, std::string_view name) {
  std::int64_t value = -1;
  describePlan(plan, [&](const char* field, const auto& is) {
    if (name == field) value = static_cast<std::int64_t>(is);
  });
  return value;
}

/// Whether there is such a field.
inline bool setField(TilingPlan& plan, std::string_view name, std::int64_t value) {
  bool found = false;
  describePlan(plan, [&](const char* field, auto& is) {
    if (name != field) return;
    is = static_cast<std::decay_t<decltype(is)>>(value);
    found = true;
  });
  return found;
}

/// The same for a choice, by its word.
inline bool setField(TilingPlan& plan, std::string_view name, const char* word) {
  bool found = false;
  describePlan(plan, [&](const char* field, auto& is) {
    using Field = std::decay_t<decltype(is)>;
    if constexpr (std::is_enum_v<Field>) {
      for (const Field candidate : allValues(Field{})) {
        if (name != field || std::string_view(word) != toString(candidate)) continue;
        is = candidate;
        found = true;
      }
    }
  });
  return found;
}

/// The plan with a field changed.
template <class Value>
TilingPlan with(TilingPlan plan, std::string_view name, Value value) {
  EXPECT_TRUE(setField(plan, name, value)) << name;
  return plan;
}

}  // namespace cubejit
