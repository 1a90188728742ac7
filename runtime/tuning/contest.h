// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how two of a lab's candidates meet: rounds in turn until the difference is decided, and what a winner has to show at the end. Knows
// neither what candidates are nor which of them are tried.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tuning/lab.h"
#include "runtime/tuning/race.h"
#include "runtime/tuning/record.h"

namespace cubejit {

/// The number of what everything is compared with; challengers count up from 1.
inline constexpr int kUntuned = 0;

struct Duel {
  RaceVerdict verdict = RaceVerdict::kOpen;
  Ratio ratio;
  std::vector<std::int64_t> challenger, incumbent;
  LabReply lost;  ///< not ok: the challenger did not come back
};

class Contest {
 public:
  /// `stop`, which may be empty, is asked often; true = finish cleanly now.
  Contest(Track& track, const RaceRules& rules, const std::function<bool()>& stop)
      : track_(track), rules_(rules), stop_(stop) {}

  /// Rounds in turn until the difference is decided. Disturbed batches do not count.
  Duel race(int incumbent, int challenger) { return duel(incumbent, challenger, false); }
  /// Fills in how a trial went of which load() said this: the twin of code that is known, refused, or raced against the incumbent, whose relative
  /// time is given; one that leads is verified, and timed against the untuned one.
  void attempt(Trial& trial, const LabReply& loaded, int incumbent, double incumbentRelative, int challenger);
  /// From now on what generates the trial's code is its twin, if it was timed.
  void know(const Trial& trial);
  /// Among many challengers one wins by luck, of the draw or of where its memory lies: the best has to beat the untuned one in longer races,
  /// in fresh processes, every time. The least gain of them, and all samples; nothing if it did not.
  struct Confirmed {
    double relative;
    std::vector<std::int64_t> samplesNs;
  };
  std::optional<Confirmed> confirm(int number);

  /// What is known of the incumbent's time, in nanoseconds: batches that are far slower count as disturbed. 0: nothing.
  void expect(std::int64_t medianNs) { bestNs_ = medianNs; }
  bool stopped() const { return stop_ && stop_(); }
  int discarded() const { return discarded_; }  ///< batches, because the machine was disturbed

 private:
  Duel duel(int incumbent, int challenger, bool confirming);
  /// A candidate's time relative to the untuned one's, each timed in turn with the other: ratios of ratios add up their errors.
  std::optional<double> againstUntuned(int number);
  Track& track_;
  const RaceRules& rules_;
  const std::function<bool()>& stop_;
  std::int64_t bestNs_ = 0;  ///< least median of a batch of the incumbent's
  int discarded_ = 0;
  std::map<std::string, double> byCode_;  ///< relative time by the digest of generated code
};

}  // namespace cubejit
