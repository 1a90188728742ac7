// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how two of a lab's candidates meet: rounds in turn until the difference is decided, and what a winner has to show at the end. Knows
// neither what candidates are nor which of them are tried.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/tuning/lab.h"
#include "runtime/tuning/race.h"

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
  /// A candidate's time relative to the untuned one's, each timed in turn with the other: ratios of ratios add up their errors.
  std::optional<double> againstUntuned(int number);
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
  Track& track_;
  const RaceRules& rules_;
  const std::function<bool()>& stop_;
  std::int64_t bestNs_ = 0;  ///< least median of a batch of the incumbent's
  int discarded_ = 0;
};

}  // namespace cubejit
