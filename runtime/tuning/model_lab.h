// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what tuning for an emulated NPU measures: the cycles its cost model gives a plan. Whether results are right is found out by
// emulating the chip. Nothing is timed, so nothing disturbs it.
#pragma once

#include <map>

#include "cubejit/machine.h"
#include "cubejit/options.h"
#include "runtime/tuning/lab.h"
#include "runtime/tuning/race.h"

namespace cubejit {

class ModelLab : public Lab {
 public:
  /// `task`'s problem has passed checkProblem and the chip's limits, or every load is refused.
  ModelLab(LabTask task, Machine machine);

  /// Races among equal samples end after three, for whatever is faster at all.
  static RaceRules rules();

  LabReply load(int number, const TilingPlan& plan) override;
  LabReply verify(int number) override;
  /// Modelled nanoseconds at the chip's clock, rounded up; a chip that states none counts its cycles as nanoseconds.
  LabReply sample(const std::vector<int>& numbers, int rounds) override;
  void drop(int number) override { loaded_.erase(number); }

 private:
  struct Loaded {
    TilingPlan plan;
    std::int64_t ns = 0;
  };
  LabTask task_;
  Machine machine_;
  std::map<int, Loaded> loaded_;
};

}  // namespace cubejit
