// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the search for a kernel's parameters: which are varied, in which order, and what is kept of it. Leaves how two choices meet to contest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/lang/parse.h"
#include "cubejit/machine.h"
#include "cubejit/options.h"
#include "cubejit/result.h"
#include "runtime/tuning/race.h"
#include "runtime/tuning/record.h"

namespace cubejit {

struct KernelTuneSetup {
  std::string text;
  lang::Settings
      fixed;  ///< what the caller chose; all other parameters with a list of values are varied, but for those that inputs and outputs depend on
  std::uint64_t seed = 1;
  int mostTrials = 0;       ///< 0 = no limit
  double mostSeconds = 10;  ///< 0 = no limit
  RaceRules rules;
  std::function<void(const KernelRecord&)> tried;  ///< told of each; may be empty
  std::function<bool()> stop;                      ///< asked often; true = finish cleanly now. May be empty
};

struct KernelTuneOutcome {
  KernelRecord untuned;  ///< the first value of each list
  KernelRecord best;  ///< what is used now: confirmed against it at the end, now or earlier, or the untuned one itself
  lang::Settings settings;   ///< the best one's, with the caller's
  double choices = 0;        ///< that there are
  int tried = 0, known = 0;  ///< now; in earlier runs
  bool confirmed = false, interrupted = false, exhausted = false;
  double seconds = 0;
  std::vector<std::string> notes;  ///< what people should know: a store that could not be written
};

/// Tries on the session's machine, backend and threads, and keeps all trials in options.store, if that names a file; what is known there is not
/// measured again. Errors: those of the text; kInvalidProblem if no parameter is left to vary; kLimitExceeded if the untuned choice does not run.
Result<KernelTuneOutcome> tuneKernel(const KernelTuneSetup& setup, const Machine& machine, const Options& options);

/// "mr=6,nr=32: 0.71 of the untuned time", or how else it ended.
std::string lineOf(const KernelRecord& record);

/// The caller's settings, and of what he left open what won a tuning run, if options.tune lets records be used and there are any.
lang::Settings withTunedSettings(const std::string& text, const lang::Settings& fixed, const Machine& machine,
                                 const Options& options);

}  // namespace cubejit
