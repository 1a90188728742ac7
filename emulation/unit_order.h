// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which instructions of a core's task are ordered: its pipes run side by side, each in order, and wait for each other's flags.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/cube/core_units.h"
#include "codegen/tile/program.h"

namespace cubejit {

/// What is wrong with a flag, or a pipe that waits forever.
struct FlagFault {
  int call = -1;       ///< of the run, from 0
  int otherCall = -1;  ///< of the other party, if there is one
  std::string what;
};

class UnitOrder {
 public:
  /// The order of calls [run.begin, run.end), which refer to `calls` from now on.
  UnitOrder(const std::vector<Node>& calls, const Window& run);

  /// Whether call `first` of the run is done before call `second` begins, whatever time instructions take. Both are of the run, from 0.
  bool isBefore(int first, int second) const;
  const std::vector<FlagFault>& faults() const { return faults_; }
  /// Every call is reached; else what is ordered is not known, and faults() say why.
  bool finishes() const { return finishes_; }

 private:
  // By pipe: how many of its steps (calls, flags and waits) are known to be over.
  using Over = std::array<std::int64_t, kUnitPipes.size()>;
  struct Step {
    int call = -1;
    const UnitFlag* flag = nullptr;  ///< null: the call itself
    int barrier = -1;                ///< its number
  };
  struct Raised {
    Over over{};
    int call = -1;
  };
  struct Flag {
    std::vector<Raised> raised;  ///< not awaited yet; more than one is a fault
    std::int64_t lowered = 0;    ///< number of the wait's step in its pipe
    int loweredBy = -1;
  };
  Flag& flag(const UnitFlag& f);
  bool advance(std::size_t pipe);
  void barrier();
  void explainDeadlock();
  void fault(const Step& step, int other, std::string what);

  std::array<std::vector<Step>, kUnitPipes.size()> queues_;
  std::array<std::size_t, kUnitPipes.size()> next_{};
  std::array<Over, kUnitPipes.size()> over_{};
  std::vector<Flag> flags_;
  struct Place {
    std::size_t pipe = 0;
    std::int64_t number = 0;  ///< of the step, from 1
    Over before{};
  };
  std::vector<Place> places_;  ///< by call
  std::vector<FlagFault> faults_;
  bool finishes_ = true;
};

}  // namespace cubejit
