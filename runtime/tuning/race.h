// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when a difference between two plans that took turns is decided. Knows nothing of plans or clocks.
#pragma once

#include <cstdint>
#include <vector>

namespace cubejit {

/// What pairs of samples, taken one right after the other, say about time(challenger) / time(incumbent).
struct Ratio {
  double median = 1;
  double low = 0, high = 0;  ///< the median's confidence interval from order statistics: no assumption about the noise
  int pairs = 0;
};

/// Pairs the i-th samples. The interval covers the median of the noise with at least 93 % from 5 pairs on; of fewer pairs it
/// is the whole range. Precondition: equally many samples, at least one, all positive.
Ratio ratioOf(const std::vector<std::int64_t>& incumbent, const std::vector<std::int64_t>& challenger);

struct RaceRules {
  int firstPairs = 3;        ///< taken before anything is decided
  int enoughPairs = 9;       ///< from here on a challenger whose median is not faster by the margin is out
  int mostPairs = 21;        ///< an open race ends here, for the incumbent
  double margin = 0.02;      ///< a challenger must be faster by this share of the time to win
  double hopeless = 1.2;     ///< slower than this in each of the first pairs: out
  double mostSpread = 0.35;  ///< of the incumbent within a batch: beyond it the batch is discarded as disturbed
  double mostDrift = 1.3;    ///< incumbent now / incumbent at its best: beyond it the batch is discarded
  int mostDiscarded = 3;     ///< batches a race may lose to disturbances; then it goes on with what it gets
};

enum class RaceVerdict : std::uint8_t { kOpen, kFaster, kNotFaster };
/// The last race of a search: is the challenger faster at all? Decided when the interval excludes 1 or at three times
/// `mostPairs`, then by the margin.
RaceVerdict judgeConfirmation(const Ratio& ratio, const RaceRules& rules);
RaceVerdict judge(const Ratio& ratio, const RaceRules& rules);

/// (90th - 10th percentile) / median of the samples: how restless the machine was.
double spreadOf(std::vector<std::int64_t> samples);

/// True if the incumbent's samples of a batch show that something else ran: too much spread, or all slower than ever before.
/// `bestMedianNs` is the least median of an earlier batch of the same plan, 0 if there is none.
bool disturbed(const std::vector<std::int64_t>& incumbent, std::int64_t bestMedianNs, const RaceRules& rules);

}  // namespace cubejit
