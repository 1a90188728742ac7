// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans a search may try: those the planner enumerates, and what changing one decision of a plan leads to.
// Every plan it gives passed the planner's rules.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cubejit/result.h"
#include "tiling/planner.h"

namespace cubejit {

struct SearchPlan {
  TilingPlan plan;
  PlanCost cost;
};

class SearchSpace {
 public:
  /// A plan's family, and its decisions.
  using Identity = std::pair<std::string, std::vector<std::int64_t>>;

  /// `problem` must have passed checkProblem. Errors as choosePlan's. `llvm`: plans may choose that backend.
  static Result<SearchSpace> of(const Problem& problem, Pass pass, const Machine& machine, bool llvm = false);

  /// A closed space: these plans and no others, however they came about. For replaying recorded searches.
  static SearchSpace among(const Problem& problem, const Machine& machine, std::vector<SearchPlan> plans);

  /// The planner's candidates that are legal, cheapest first: the front one is what it chooses untuned. Of a closed space: its plans.
  const std::vector<SearchPlan>& enumerated() const { return plans_; }

  /// Legal plans that differ from `plan` in one decision: a number one step up, one down, doubled, halved or as another candidate
  /// has it (a step is 1, and the largest number that divides what all candidates have); any other value of a choice. In random
  /// order, without repetition. May be empty.
  std::vector<SearchPlan> mutations(const TilingPlan& plan, std::mt19937_64& random) const;

 private:
  Problem problem_;
  Machine machine_;
  bool llvm_ = false;
  std::vector<SearchPlan> plans_;
  std::set<Identity> closedTo_;  ///< empty: open
};

}  // namespace cubejit
