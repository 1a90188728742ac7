// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides in which order plans are tried. Leaves trying them to autotune, and knows nothing of clocks: the same strategies run
// on recorded measurements.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cubejit/result.h"
#include "runtime/tuning/cost_fit.h"
#include "runtime/tuning/search_space.h"

namespace cubejit {

enum class StrategyKind : std::uint8_t {
  kModel,       ///< cheapest by the cost model first, refitted to what was measured as the search goes on
  kEvolve,      ///< begins like kModel, then changes one decision at a time of the best plans found
  kRandom,      ///< enumerated plans in random order
  kExhaustive,  ///< every enumerated plan, in the planner's order
};
constexpr const char* toString(StrategyKind k) {
  constexpr const char* kNames[] = {"model", "evolve", "random", "exhaustive"};
  return kNames[static_cast<int>(k)];
}
Result<StrategyKind> parseStrategy(const std::string& name);

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The next plan to try, never one given or told about before; none when there is nothing left.
  virtual std::optional<SearchPlan> next() = 0;
  /// How it went: the time relative to the untuned plan, or nothing if it could not be measured. Plans measured earlier may
  /// be told as well.
  virtual void learn(const SearchPlan& plan, std::optional<double> relative) = 0;
};

/// `space` must outlive the strategy. `earlier` are measurements of other problems on this machine: they correct the model
/// from the start. The same seed gives the same order if the measurements are the same.
std::unique_ptr<Strategy> makeStrategy(StrategyKind kind, const SearchSpace& space, std::uint64_t seed,
                                       std::vector<FitPoint> earlier);

}  // namespace cubejit
