// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides unrolling: short rows whole, long ones in equal pieces.
#include "algorithms/direct_weights/lower/column_patterns.h"

#include <algorithm>

#include "algorithms/direct_weights/unrolled_columns.h"

namespace cubejit {
namespace {

// Columns per loop iteration: few enough, and leaving as few over as possible.
std::int64_t bestUnroll(const DirectWeightsPlan& plan, std::int64_t length) {
  std::int64_t best = std::min(length, plan.unroll);
  for (std::int64_t u = best; u >= std::max<std::int64_t>(1, plan.unroll / 2); --u) {
    if (length % u < length % best) best = u;
  }
  return std::max<std::int64_t>(1, best);
}

}  // namespace

std::vector<ColumnPatternUse> columnPatterns(const ConvView& view, const DirectWeightsPlan& plan, PixelPairs pairs,
                                             const PixelBlock& block, const Range& taps) {
  std::vector<ColumnPatternUse> uses;
  const std::int64_t accs = plan.registerRows * plan.registerVectors * std::min(plan.registerTaps, taps.length());
  const std::int64_t unrolled = unrolledColumns(accs);
  const auto cover = [&](const ColumnRun& run, std::int64_t length, bool single) {
    if (!view.oneAxis && length <= unrolled) {
      uses.push_back({ColumnPattern{run.tapLo, run.tapHi, length, true, single}, run.start, 1});
      return;
    }
    const std::int64_t steps = bestUnroll(plan, length), rest = length % steps;
    uses.push_back({ColumnPattern{run.tapLo, run.tapHi, steps, false, single}, run.start, length / steps});
    if (rest > 0)
      uses.push_back({ColumnPattern{run.tapLo, run.tapHi, rest, !view.oneAxis, single},
                      run.start + (length - rest) * columnsOfStep(pairs, single), 1});
  };
  const std::vector<ColumnRun> runs = columnRuns(view, block, taps.lo, taps.length());
  if (pairs == PixelPairs::kColumns) {
    for (const PairedRun& r : pairedColumns(runs, std::max<std::int64_t>(1, accs / taps.length()), plan.registerRows))
      cover(r.columns, r.steps(), r.single);
  } else {
    for (const ColumnRun& r : runs) cover(r, r.length, false);
  }
  return uses;
}

}  // namespace cubejit
