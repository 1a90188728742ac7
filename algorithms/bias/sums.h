// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many sums of db there are at a time, and how long they are.
#pragma once

#include <cstdint>

#include "algorithms/bias/plan.h"
#include "algorithms/kit/chains.h"
#include "algorithms/kit/conv_view.h"

namespace cubejit {

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
