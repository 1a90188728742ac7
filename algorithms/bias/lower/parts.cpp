// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides runs and cuts by counting units over all runs.
#include "algorithms/bias/lower/parts.h"

#include <algorithm>

#include "tiling/work_limit.h"

namespace cubejit {

namespace {

// Images, planes of each and rows of each that begin a run.
struct Beginnings {
  std::int64_t images = 1, planes = 1, rows = 1;
};

// Channels lie between a plain tensor's images, and between planes of a blocked tensor's block.
Beginnings beginningsOf(const TensorView& t, std::int64_t batch) {
  const bool rows = t.denseRows(), planes = rows && t.c0 == 0 && t.dStride == t.extent.h * t.hStride,
             images = planes && t.channelsLast && t.nStride == t.extent.d * t.dStride;
  return {images ? 1 : batch, planes ? 1 : t.extent.d, rows ? 1 : t.extent.h};
}

}  // namespace

std::int64_t pixelRunCount(const TensorView& t, std::int64_t batch) {
  const Beginnings b = beginningsOf(t, batch);
  return b.images * b.planes * b.rows;  // no more than elements
}

PixelRuns pixelRuns(const TensorView& t, std::int64_t batch) {
  PixelRuns runs;
  limitWork(static_cast<double>(pixelRunCount(t, batch)), kMostSteps, "runs of pixels of dy");
  const Beginnings b = beginningsOf(t, batch);
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
