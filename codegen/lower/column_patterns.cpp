// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides unrolling: short rows whole, long ones in equal pieces.
#include "codegen/lower/column_patterns.h"

#include <algorithm>

#include "cubejit/unrolled_uses.h"

namespace cubejit {
namespace {

// Columns per loop iteration: few enough, and leaving as few over as possible.
std::int64_t bestUnroll(const TilingPlan& plan, std::int64_t length) {
  std::int64_t best = std::min(length, plan.unroll);
  for (std::int64_t u = best; u >= std::max<std::int64_t>(1, plan.unroll / 2); --u) {
    if (length % u < length % best) best = u;
  }
  return std::max<std::int64_t>(1, best);
}

}  // namespace

std::vector<ColumnPatternUse> columnPatterns(const ConvView& view, const TilingPlan& plan, PixelPairs pairs,
                                             const PixelChunk& chunk, const Range& taps) {
  std::vector<ColumnPatternUse> uses;
  const std::int64_t accs = plan.baseRows * plan.baseVectors * taps.length();
  const std::int64_t unrolled = unrolledColumns(accs);
  for (ColumnRun run : columnRuns(view, chunk, taps.lo, taps.length())) {
    if (pairs == PixelPairs::kColumns) {  // an odd last one goes alone
      if (run.length % 2 != 0)
        uses.push_back({ColumnPattern{run.tapLo, run.tapHi, 1, !view.line, true}, run.start + run.length - 1, 1});
      run.length /= 2;
      if (run.length == 0) continue;
    }
    if (!view.line && run.length <= unrolled) {
      uses.push_back({ColumnPattern{run.tapLo, run.tapHi, run.length, true}, run.start, 1});
      continue;
    }
    const std::int64_t steps = bestUnroll(plan, run.length);
    uses.push_back({ColumnPattern{run.tapLo, run.tapHi, steps, false}, run.start, run.length / steps});
    const std::int64_t rest = run.length % steps;
    if (rest > 0)
      uses.push_back({ColumnPattern{run.tapLo, run.tapHi, rest, !view.line},
                      run.start + (run.length - rest) * columnsOfStep(pairs, false), 1});
  }
  return uses;
}

}  // namespace cubejit
