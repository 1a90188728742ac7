// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many sums of db there are at a time, and how long they are.
#pragma once

#include <cstdint>

#include "algorithms/bias/plan.h"
#include "algorithms/kit/chains.h"
#include "algorithms/kit/conv_view.h"

namespace cubejit {

/// Images, planes of each and rows of each that begin a run of pixels which are equally far apart.
struct RunBeginnings {
  std::int64_t images = 1, planes = 1, rows = 1;
  std::int64_t count() const { return images * planes * rows; }  ///< no more than elements
};
RunBeginnings runBeginnings(const TensorView& t, std::int64_t batch);

/// Rows that an iteration sums.
constexpr std::int64_t kBiasUnroll = 4;

struct BiasSums {
  std::int64_t block = 1;  ///< lanes of channels: channels that a call sums
  std::int64_t side = 1;   ///< lanes of channels: pixels whose sums are apart; of pixels: channels side by side
  std::int64_t steps = 0;  ///< additions to one sum, in all parts
  PartialSums partial() const { return {ceilDiv(steps, kLongestChain), std::min(steps, kLongestChain)}; }
};
BiasSums biasSums(const ConvView& view, const BiasPlan& plan, int lanes);

}  // namespace cubejit
