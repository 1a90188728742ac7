// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is kept of every plan that was tried: what was asked, what was tried, where, and everything that was measured.
// Machine code is never kept. Leaves files to store and text to json_record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "tiling/planner.h"

namespace cubejit {

/// How trying a plan ended.
enum class TrialStatus : std::uint8_t {
  kMeasured,   ///< it ran and was timed
  kRefused,    ///< a rule of the plan, of its lowering or of a limit refuses it
  kDuplicate,  ///< it generates the very code of a plan already tried
  kWrong,      ///< its results differ from the reference
  kCrashed,    ///< it ended the process it ran in
  kTimedOut,   ///< it did not come back in time
  kFailed      ///< it could not be run here: memory, or the worker itself
};
constexpr const char* toString(TrialStatus s) {
  constexpr const char* kNames[] = {"measured", "refused", "duplicate", "wrong", "crashed", "timed_out", "failed"};
  return kNames[static_cast<int>(s)];
}

/// What a record is about: the same pass of the same problem, run the same way on the same kind of machine.
struct TuneKey {
  Problem problem;
  Pass pass = Pass::kDx;
  std::string machine;  ///< machineFingerprint()
  std::string backend;  ///< of BackendKind
  int threads = 1;
};

/// Something tried once, whatever it was.
struct Trial {
  std::string version;  ///< of the library
  std::string code;     ///< digest of the generated program: two records with one digest measured the same instructions
  TrialStatus status = TrialStatus::kMeasured;
  bool won = false;       ///< beat the untuned one when measured again at the end of a run (or is that): may be used
  bool verified = false;  ///< beat the best of its run so far, and was compared with the reference and is right
  bool untuned = false;   ///< what is chosen without tuning
  double relative = 0;    ///< time divided by that of the untuned one, from runs that took turns; 0 = unknown
  std::vector<std::int64_t> samplesNs;
  std::string message;  ///< why it was refused, what differed, which signal; why one that led is believed no more
  std::string run;      ///< of one tuning run; records of two runs never replace one another
  std::int64_t unixTime = 0;
};

/// One plan tried once.
struct TuneRecord : Trial {
  TuneKey key;
  TilingPlan plan;
  PlanCost cost;  ///< what the model expected; `bound` is not kept
};

/// What records of a kernel in the kernel language are about: one text with those parameters that the caller chose.
struct KernelKey {
  std::string identity;  ///< name, digest of the text, the caller's parameters
  std::string machine;   ///< machineFingerprint()
  std::string backend;   ///< of BackendKind
  int threads = 1;
};

/// One choice of a kernel's other parameters tried once.
struct KernelRecord : Trial {
  KernelKey key;
  std::string name;      ///< the kernel's
  std::string settings;  ///< "nr=16,mr=4": what was chosen, in the order of the text
};

/// Median of the samples in nanoseconds; 0 if there are none.
std::int64_t medianNs(std::vector<std::int64_t> samples);

}  // namespace cubejit
