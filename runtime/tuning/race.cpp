// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides races by order statistics: medians of ratios, and their confidence intervals by the binomial distribution.
#include "runtime/tuning/race.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "runtime/tuning/record.h"

namespace cubejit {
namespace {

// Largest k for which at most 3.5 % of fair coins thrown n times show fewer than k heads: the k-th smallest and k-th largest
// ratio then enclose the median with at least 93 %.
std::size_t orderOf(std::size_t n) {
  double chance = std::ldexp(1.0, -static_cast<int>(n)), below = 0;
  std::size_t k = 0;
  while (k < n / 2 && below + chance <= 0.035) {
    below += chance;
    chance *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return std::max<std::size_t>(k, 1);
}

}  // namespace

std::int64_t medianNs(std::vector<std::int64_t> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

Ratio ratioOf(const std::vector<std::int64_t>& incumbent, const std::vector<std::int64_t>& challenger) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(incumbent.size(), challenger.size()); ++i)
    ratios.push_back(static_cast<double>(challenger[i]) / static_cast<double>(incumbent[i]));
  std::sort(ratios.begin(), ratios.end());
  Ratio out;
  const std::size_t n = ratios.size(), k = orderOf(n);
  if (n == 0) return out;
  out.pairs = static_cast<int>(n);
  out.median = n % 2 == 1 ? ratios[n / 2] : std::sqrt(ratios[n / 2 - 1] * ratios[n / 2]);
  out.low = ratios[k - 1];
  out.high = ratios[n - k];
  return out;
}

RaceVerdict judge(const Ratio& ratio, const RaceRules& rules) {
  if (ratio.pairs < rules.firstPairs) return RaceVerdict::kOpen;
  if (ratio.low > rules.hopeless) return RaceVerdict::kNotFaster;
  if (ratio.pairs >= rules.firstPairs + 2) {
    if (ratio.high < 1 - rules.margin) return RaceVerdict::kFaster;
    if (ratio.low > 1 - rules.margin) return RaceVerdict::kNotFaster;
  }
  if (ratio.pairs >= rules.enoughPairs && ratio.median > 1 - rules.margin) return RaceVerdict::kNotFaster;
  return ratio.pairs >= rules.mostPairs ? RaceVerdict::kNotFaster : RaceVerdict::kOpen;
}

RaceVerdict judgeConfirmation(const Ratio& ratio, const RaceRules& rules) {
  if (ratio.pairs < rules.enoughPairs) return RaceVerdict::kOpen;
  if (ratio.high < 1) return RaceVerdict::kFaster;
  if (ratio.low > 1) return RaceVerdict::kNotFaster;
  if (ratio.pairs < 3 * rules.mostPairs) return RaceVerdict::kOpen;
  return ratio.median < 1 - rules.margin ? RaceVerdict::kFaster : RaceVerdict::kNotFaster;
}

double spreadOf(std::vector<std::int64_t> samples) {
  if (samples.size() < 2) return 0;
  std::sort(samples.begin(), samples.end());
  const std::size_t last = samples.size() - 1;
  const auto at = [&](double share) {
    return static_cast<double>(samples[static_cast<std::size_t>(share * static_cast<double>(last) + 0.5)]);
  };
  return (at(0.9) - at(0.1)) / at(0.5);
}

bool disturbed(const std::vector<std::int64_t>& incumbent, std::int64_t bestMedianNs, const RaceRules& rules) {
  if (spreadOf(incumbent) > rules.mostSpread) return true;
  return bestMedianNs > 0 &&
         static_cast<double>(medianNs(incumbent)) > rules.mostDrift * static_cast<double>(bestMedianNs);
}

}  // namespace cubejit
