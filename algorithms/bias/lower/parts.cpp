// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides runs and cuts by counting units over all runs.
#include "algorithms/bias/lower/parts.h"

#include <algorithm>

#include "algorithms/bias/sums.h"
#include "tiling/work_limit.h"

namespace cubejit {

PixelRuns pixelRuns(const TensorView& t, std::int64_t batch) {
  PixelRuns runs;
  const RunBeginnings b = runBeginnings(t, batch);
  limitWork(static_cast<double>(b.count()), kMostSteps, "runs of pixels of dy");
  for (std::int64_t n = 0; n < b.images; ++n) {
    for (std::int64_t d = 0; d < b.planes; ++d) {
      for (std::int64_t h = 0; h < b.rows; ++h) runs.offsets.push_back(n * t.nStride + d * t.dStride + h * t.hStride);
    }
  }
  runs.pixels = batch * t.extent.volume() / std::max<std::int64_t>(1, static_cast<std::int64_t>(runs.offsets.size()));
  return runs;
}

std::vector<BiasPart> cutRuns(const std::vector<std::int64_t>& offsets, std::int64_t units, std::int64_t unitBytes,
                              std::int64_t parts) {
  const std::int64_t all = static_cast<std::int64_t>(offsets.size()) * units;
  const std::int64_t length = (all + parts - 1) / std::max<std::int64_t>(1, parts);
  std::vector<BiasPart> out;
  for (std::int64_t begin = 0; begin < all; begin += length) {
    BiasPart part;
    const std::int64_t end = std::min(all, begin + length);
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t run = at / units, first = at % units, count = std::min(units - first, end - at);
      part.push_back({offsets[static_cast<std::size_t>(run)] + first * unitBytes, count, first + count == units});
      at += count;
    }
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace cubejit
