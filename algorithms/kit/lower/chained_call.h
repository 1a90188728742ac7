// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a call whose accumulators would add up too many products in a row becomes several, each of which adds a partial sum to its
// results (Contract::addsToC).
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/kit/chains.h"
#include "algorithms/kit/lower/builder.h"

namespace cubejit {

/// Lists that walk over the segments of `list` in their order; with each of them an accumulator of `contract` adds up at most `most` products,
/// and nearly equally many. Iterations of a section are not cut.
std::vector<SegmentList> boundedChains(const Contract& contract, const SegmentList& list, std::int64_t most);

/// The node of a call, within a loop over its chains if there are several.
Node chainedCall(ProgramBuilder& b, Call call, std::int64_t most = kLongestChain);

}  // namespace cubejit
