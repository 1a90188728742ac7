// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `plan --explain` measures beside what the cost model says: some candidates, in turn, on the session's threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"

namespace cubejit {

/// The time of one run, in cycles of a core.
struct MeasuredPlan {
  double cycles = 0;  ///< of the run, as PlanCandidate::predictedCycles
  double multiplying = 0, moving = 0, walking = 0,
         waiting = 0;  ///< of all threads together, as the costs of a candidate
};

struct MeasuredPlans {
  std::vector<std::optional<MeasuredPlan>> plans;  ///< as given; empty = it could not be compiled
  double gigahertz = 0;                            ///< that of multiply-adds just before: what makes cycles of times
  std::string whyNot;                              ///< nothing could be measured, and why
};

/// Vectors of multiply-adds that a core does in a cycle.
double vectorsPerCycle(const Machine& machine);

/// Every plan is measured several times, a few milliseconds each, plan after plan; its fastest run counts.
MeasuredPlans measurePlans(const Options& options, const Machine& machine, const Problem& problem, Pass pass,
                           const std::vector<TilingPlan>& plans);

}  // namespace cubejit
