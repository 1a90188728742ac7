// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which columns of a row the same taps use, and which of them share a word where columns are paired; the lowering does it,
// the planner costs it. Leaves where taps reach to the callers, and unrolling to the lowering.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/kit/range.h"

namespace cubejit {

/// Neighbouring columns that the same taps [tapLo, tapHi) of a block use.
struct ColumnRun {
  std::int64_t start = 0, length = 0, tapLo = 0, tapHi = 0;
  std::int64_t taps() const { return tapHi - tapLo; }
};

/// Runs of the columns [0, length), of taps that use the columns `taps`; columns that no tap uses are left out. What a column uses are neighbouring taps.
inline std::vector<ColumnRun> columnRuns(const std::vector<Range>& taps, std::int64_t length) {
  std::vector<std::int64_t> cuts{0, length};
  for (const Range& tap : taps) cuts.insert(cuts.end(), {tap.lo, tap.hi});
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<ColumnRun> runs;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    ColumnRun run{cuts[i], cuts[i + 1] - cuts[i], static_cast<std::int64_t>(taps.size()), 0};
    for (std::size_t t = 0; t < taps.size(); ++t) {
      if (taps[t].lo > run.start || run.start >= taps[t].hi) continue;
      run.tapLo = std::min(run.tapLo, static_cast<std::int64_t>(t));
      run.tapHi = static_cast<std::int64_t>(t) + 1;
    }
    if (run.tapLo < run.tapHi) runs.push_back(run);
  }
  return runs;
}

/// Columns that are taken two by two; or, one by one, without the second members of their words.
struct PairedRun {
  ColumnRun columns;
  bool single = false;
  std::int64_t steps() const { return single ? columns.length : columns.length / 2; }
};

namespace column_runs_detail {

/// What a tap of a step takes: so many multiply-accumulates, and operands that a single column has to mask.
struct StepWork {
  std::int64_t usesOfTap = 1, rows = 1;
};

/// In multiply-accumulates. A step of few is over no sooner: the next one waits for the same sums.
inline std::int64_t workOf(const std::vector<PairedRun>& runs, const StepWork& w) {
  constexpr std::int64_t kFewestUses = 12;  // six cycles of latency, two a cycle (Zen4, Zen5)
  std::int64_t work = 0;
  for (const PairedRun& r : runs)
    work += r.steps() * (std::max(r.columns.taps() * w.usesOfTap, kFewestUses) + (r.single ? w.rows : 0));
  return work;
}

/// Each run by itself: an odd last column goes alone.
inline std::vector<PairedRun> pairedWithin(const std::vector<ColumnRun>& runs) {
  std::vector<PairedRun> out;
  for (const ColumnRun& r : runs) {
    const std::int64_t even = r.length / 2 * 2;
    if (r.length > even) out.push_back({{r.start + even, 1, r.tapLo, r.tapHi}, true});
    if (even > 0) out.push_back({{r.start, even, r.tapLo, r.tapHi}, false});
  }
  return out;
}

/// An odd last column shares words with the next run's first one, for the taps that both use.
inline std::vector<PairedRun> pairedAcross(const std::vector<ColumnRun>& runs) {
  std::vector<PairedRun> out;
  const auto single = [&](std::int64_t column, std::int64_t lo, std::int64_t hi) {
    if (lo < hi) out.push_back({{column, 1, lo, hi}, true});
  };
  std::optional<ColumnRun> odd;
  for (ColumnRun r : runs) {
    if (odd && odd->start + 1 == r.start && std::max(odd->tapLo, r.tapLo) < std::min(odd->tapHi, r.tapHi)) {
      const std::int64_t lo = std::max(odd->tapLo, r.tapLo), hi = std::min(odd->tapHi, r.tapHi);
      out.push_back({{odd->start, 2, lo, hi}, false});
      single(odd->start, odd->tapLo, lo);
      single(odd->start, hi, odd->tapHi);
      single(r.start, r.tapLo, lo);
      single(r.start, hi, r.tapHi);
      ++r.start;
      --r.length;
    } else if (odd) {
      single(odd->start, odd->tapLo, odd->tapHi);
    }
    odd.reset();
    const std::int64_t even = r.length / 2 * 2;
    if (even > 0) out.push_back({{r.start, even, r.tapLo, r.tapHi}, false});
    if (r.length > even) odd = ColumnRun{r.start + even, 1, r.tapLo, r.tapHi};
  }
  if (odd) single(odd->start, odd->tapLo, odd->tapHi);
  return out;
}

}  // namespace column_runs_detail

/// The cheaper way to pair a row's columns, for a tile with `usesOfTap` sums a tap and `rows` rows of scalars.
inline std::vector<PairedRun> pairedColumns(const std::vector<ColumnRun>& runs, std::int64_t usesOfTap,
                                            std::int64_t rows) {
  namespace detail = column_runs_detail;
  const detail::StepWork work{usesOfTap, rows};
  std::vector<PairedRun> within = detail::pairedWithin(runs), across = detail::pairedAcross(runs);
  return detail::workOf(across, work) < detail::workOf(within, work) ? across : within;
}

}  // namespace cubejit
