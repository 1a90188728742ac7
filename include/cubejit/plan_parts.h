// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the words that plans of several algorithms share. Leaves each algorithm's plan to the algorithm.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "cubejit/problem.h"

namespace cubejit {

/// Which loop is outside within a core: over pixels (weights reused from cache) or over result channels (pixels reused).
enum class IterateOrder : std::uint8_t { kPixelsOuter, kChannelsOuter };
constexpr const char* toString(IterateOrder o) {
  return o == IterateOrder::kPixelsOuter ? "pixels_outer" : "channels_outer";
}
constexpr std::array<IterateOrder, 2> allValues(IterateOrder) {
  return {IterateOrder::kPixelsOuter, IterateOrder::kChannelsOuter};
}

/// Which lines a kernel prefetches.
enum class Prefetch : std::uint8_t {
  kUsual,  ///< those that results of long sums go to; where lanes are summed at the end those of dY `prefetchDistance` blocks ahead
  kNone,   ///< none; the hardware may foresee them
  kResults,  ///< those that results go to, however short the sum
  kOperands  ///< as usual, and those of dY `prefetchDistance` register blocks ahead
};
constexpr const char* toString(Prefetch p) {
  return p == Prefetch::kUsual     ? "usual"
         : p == Prefetch::kNone    ? "none"
         : p == Prefetch::kResults ? "results"
                                   : "operands";
}
constexpr std::array<Prefetch, 4> allValues(Prefetch) {
  return {Prefetch::kUsual, Prefetch::kNone, Prefetch::kResults, Prefetch::kOperands};
}

/// What spells a plan's kernels. All backends agree in every bit, so it is a choice of speed alone.
enum class PlanBackend : std::uint8_t {
  kSession,  ///< Options::backend
  kLlvm      ///< the LLVM component, in a session whose own backend makes machine code
};
constexpr const char* toString(PlanBackend b) { return b == PlanBackend::kSession ? "session" : "llvm"; }
constexpr std::array<PlanBackend, 2> allValues(PlanBackend) { return {PlanBackend::kSession, PlanBackend::kLlvm}; }

/// What a task holds in cache at once, of a data gradient: planes and rows of results (of a line: pixels are rows).
struct CacheBlock {
  std::int64_t d = 1, h = 1;
};

/// What a weight gradient sums before it goes on to the next block: images, planes and rows of pixels (of a line: pixels are rows).
/// More than one plane only of whole planes, more than one image only of whole images.
struct ReductionBlock {
  std::int64_t n = 1, d = 1, h = 1;
};

}  // namespace cubejit
