// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what tuning one pass of one problem means for the command: worker, store, limits. Leaves which ones, and in what
// order, to tune and tune_mpi.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/tuning/autotune.h"
#include "runtime/tuning/record_keeper.h"
#include "tune_view.h"

namespace cubejit::cli {

struct TuneTask {
  Problem problem;
  Pass pass = Pass::kDx;
};

struct TuneOptions {
  StrategyKind strategy = StrategyKind::kEvolve;
  int trials = 0;
  double seconds = 0;        ///< of the whole run
  double trialSeconds = 30;  ///< for one answer of the worker
  std::string worker;        ///< shell command that stands in for `cubejit tune-worker`; empty: this program
  bool resume = false, keepBits = false;
  std::uint64_t seed = 1;
};

/// How one task ended.
struct TuneRow {
  TuneTask task;
  TuneOutcome outcome;
  std::string error;  ///< not empty: it could not be tuned
  ErrorCode errorCode = ErrorCode::kInternal;
};

class TuneRun {
 public:
  TuneRun(const Session& session, const TuneOptions& options, RecordKeeper& keeper, TuneView& view,
          std::function<bool()> stop);

  /// Tunes one task within `seconds` (0 = no limit).
  TuneRow tune(const TuneTask& task, double seconds, int index, int count);
  TuneKey keyOf(const TuneTask& task) const;
  /// What plans are made for.
  const Machine& machine() const { return session_.machine(); }
  /// Cycles of a chip's cost model are minimised, and nothing is timed.
  bool modelled() const;
  const std::string& run() const { return run_; }
  std::function<void(const TuneRecord&)> alsoKeep;  ///< told every record, after the store

 private:
  Result<std::unique_ptr<Lab>> openLab(const TuneKey& key) const;

  const Session& session_;
  const TuneOptions& options_;
  RecordKeeper& keeper_;
  TuneView& view_;
  std::function<bool()> stop_;
  std::string run_;
  bool llvm_ = false;  ///< the component is there
};

}  // namespace cubejit::cli
