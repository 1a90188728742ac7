// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `plan --explain` measures beside what the cost model says: candidates that stand for all, in turn, on the session's threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"

namespace cubejit {

/// The time of one run, in cycles of a core.
struct MeasuredPlan {
  double cycles = 0;  ///< of the run, as PlanCandidate::predictedCycles
  /// What `cycles` of all threads together were spent on, as the costs of a candidate. Another run tells the shares, in which a clock is read before
  /// and after every call; that makes short calls take longer. Zero for all plans but the choice and the fastest.
  double multiplying = 0, moving = 0, walking = 0, waiting = 0;
};

struct MeasuredPlans {
  std::optional<MeasuredPlan> chosen;
  std::vector<std::optional<MeasuredPlan>> candidates;  ///< as given; empty = not run
  double gigahertz = 0;  ///< that of multiply-adds just before: what makes cycles of times
  std::string whyNot;    ///< nothing, or some plan, could not be measured, and why

  /// The place of the fastest candidate; empty = none was run.
  std::optional<std::size_t> fastest() const;
  /// How much longer the chosen plan took than the fastest one that was run, as a share of it; 0 = none was faster, or it was not run.
  double regret() const;
};

/// Operations of f32 multiply-adds, two each, that all cores do in a cycle.
double flopsPerCycle(const Machine& machine);

/// Runs `chosen` and those `candidates` (cheapest first) that stand for all others: the cheapest, and of each value of each decision the
/// cheapest legal plan that has it. They take turns; one that falls behind is not run again, and the fastest run of each counts.
/// At last the fastest takes turns with the choice alone.
MeasuredPlans measurePlans(const Options& options, const Machine& machine, const Problem& problem,
                           const TilingPlan& chosen, const std::vector<PlanCandidate>& candidates);

}  // namespace cubejit
