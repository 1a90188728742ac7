// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the search for one pass of one problem: which plan meets which, what a race means, when it ends. Leaves running
// plans to a Lab, their order to a Strategy, and keeping records to the caller.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cubejit/machine.h"
#include "cubejit/result.h"
#include "runtime/tuning/lab.h"
#include "runtime/tuning/race.h"
#include "runtime/tuning/strategy.h"

namespace cubejit {

struct TuneSetup {
  TuneKey key;
  Machine machine;
  bool llvm = false;  ///< plans may choose the LLVM backend
  StrategyKind strategy = StrategyKind::kEvolve;
  std::uint64_t seed = 1;
  int mostTrials = 0;      ///< plans loaded; 0 = no limit
  double mostSeconds = 0;  ///< 0 = no limit. At least one limit, or a strategy that ends
  RaceRules rules;
  std::string version, run;  ///< go into every record
  /// Records of this key, from earlier or other runs: not measured again. Without its winners a run cannot withdraw them.
  std::vector<TuneRecord> known;
  std::vector<FitPoint> otherPoints;  ///< of other problems on this machine: they correct the cost model from the start
};

/// How far a search is; told after every trial.
struct TuneProgress {
  int trial = 0;
  double seconds = 0;
  double relative = 0;  ///< of the plan just tried; 0 = not measured
  double best = 1;      ///< relative time of the best so far
  std::int64_t untunedNs = 0, bestNs = 0;
  TrialStatus status = TrialStatus::kMeasured;
};

struct TuneWatch {
  std::function<void(const TuneRecord&)> keep;        ///< called once a trial is over; again when a winner is confirmed
  std::function<void(const TuneProgress&)> progress;  ///< may be empty
  std::function<bool()> stop;                         ///< asked often; true = finish cleanly now. May be empty
  std::function<std::vector<TuneRecord>()> refresh;   ///< records other tuners made meanwhile; may be empty
};

struct TuneOutcome {
  TuneRecord untuned;  ///< the planner's own choice
  TuneRecord best;  ///< what is used now: confirmed against it at the end, now or earlier, or the untuned plan itself
  int tried = 0, adopted = 0;  ///< plans tried now; plans known before
  int byStatus[7] = {};        ///< of those tried now, per TrialStatus
  int discarded = 0;           ///< batches of samples thrown away because the machine was disturbed
  bool confirmed = false, interrupted = false, exhausted = false;
  double seconds = 0;
  RankQuality model,
      refitted;  ///< how the planner's model ranks what was measured; and corrected by the other problems
};

/// Errors are of the problem (no legal plan), or kLimitExceeded when the lab cannot run the untuned plan.
Result<TuneOutcome> autotune(const TuneSetup& setup, Lab& lab, const TuneWatch& watch);

/// Measured records as points to fit, one problem number per key.
std::vector<FitPoint> fitPoints(const std::vector<TuneRecord>& records);

/// The same of those records whose key differs from `key` in the problem only (and in backend and threads): for otherPoints.
std::vector<FitPoint> pointsOfOthers(const std::vector<TuneRecord>& records, const TuneKey& key);

}  // namespace cubejit
