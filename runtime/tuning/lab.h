// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what can be asked about plans of one problem and pass: do they run, are they right, how long do they take.
// Leaves where that happens to its implementations: this process, a child of it, or a book of recorded answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cubejit/machine.h"
#include "cubejit/options.h"
#include "runtime/tuning/record.h"

namespace cubejit {

/// What the plans of a lab are for.
struct LabTask {
  Problem problem;
  Pass pass = Pass::kDx;
  std::string isa = "avx512";
  std::string backend = "xbyak";
  int threads = 1;
  std::string llvmComponent;       ///< Options::llvmComponent
  std::optional<Machine> machine;  ///< Options::machine
  bool elideCopies = false;        ///< Options::elideCopies
  bool keepBits = false;           ///< plans are to have the results of the untuned one: load() tells their digest
};

struct LabReply {
  TrialStatus status = TrialStatus::kMeasured;  ///< anything else is the end of the plan that was asked about
  std::string message;
  std::string code;                                  ///< load: digest of what was generated
  std::vector<std::vector<std::int64_t>> samplesNs;  ///< sample: per plan, in the order asked
  std::string results{};  ///< load, where bits are kept: digest of the results, of the same operands for all plans
  bool ok() const { return status == TrialStatus::kMeasured; }
};

/// What is loaded, plans or others, is spoken of by numbers that the caller chooses.
class Track {
 public:
  virtual ~Track() = default;
  /// Compares the results of what is loaded with the reference: kMeasured if they are right, kWrong if not.
  virtual LabReply verify(int number) = 0;
  /// Times what is loaded in turn, `rounds` times each.
  virtual LabReply sample(const std::vector<int>& numbers, int rounds) = 0;
  /// Forgets what was loaded.
  virtual void drop(int number) = 0;
  /// Begins afresh with what is loaded: other memory, another process. What was luck of the old does not repeat.
  virtual LabReply renew() { return {}; }
};

class Lab : public Track {
 public:
  /// Generates the plan's code and runs it once. A number used before is replaced.
  virtual LabReply load(int number, const TilingPlan& plan) = 0;
};

}  // namespace cubejit
