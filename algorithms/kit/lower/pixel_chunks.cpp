// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides chunks of pixels and their classes.
#include "algorithms/kit/lower/pixel_chunks.h"

#include <algorithm>
#include <utility>

#include "algorithms/kit/axis_phases.h"

namespace cubejit {
namespace {

using axis_phases_detail::ceilDiv;
using axis_phases_detail::floorDiv;

// Everything about a chunk that code and lists depend on.
std::vector<std::int64_t> signature(const ConvView& v, const PixelChunk& c) {
  std::vector<std::int64_t> s{c.n.length(), c.d.length(), c.h.length(), c.w.length(), c.first ? 1 : 0};
  const Range* own[] = {&c.d, &c.h, &c.w};
  for (int axis = 0; axis < 3; ++axis) {
    for (std::int64_t k = 0; k < v.kernel[axis]; ++k) {
      const Range r = validPixels(*own[axis], k, v.stride[axis], v.dilation[axis], v.pad[axis], v.big.extent[axis]);
      s.push_back(r.lo);
      s.push_back(r.hi);
    }
    const BigRange b =
        bigRange(*own[axis], v.kernel[axis], v.stride[axis], v.dilation[axis], v.pad[axis], v.big.extent[axis]);
    s.push_back(b.clipped.lo - b.origin);
    s.push_back(b.clipped.length());
  }
  return s;
}

template <class Visit>
void cut(std::int64_t extent, std::int64_t size, Visit visit) {
  for (std::int64_t lo = 0; lo < extent; lo += size) visit(Range{lo, std::min(extent, lo + size)});
}

}  // namespace

Range validPixels(const Range& own, std::int64_t k, std::int64_t stride, std::int64_t dilation, std::int64_t pad,
                  std::int64_t bigExtent) {
  const std::int64_t shift = k * dilation - pad;
  const std::int64_t lo = std::clamp(ceilDiv(-shift, stride), own.lo, own.hi);
  const std::int64_t hi = std::clamp(floorDiv(bigExtent - 1 - shift, stride) + 1, lo, own.hi);
  return lo < hi ? Range{lo - own.lo, hi - own.lo} : Range{};
}

BigRange bigRange(const Range& own, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t pad,
                  std::int64_t bigExtent) {
  BigRange r;
  r.origin = own.lo * stride - pad;
  const std::int64_t end = (own.hi - 1) * stride - pad + (kernel - 1) * dilation + 1;
  r.clipped.lo = std::clamp<std::int64_t>(r.origin, 0, bigExtent);
  r.clipped.hi = std::clamp(end, r.clipped.lo, bigExtent);
  return r;
}

ChunkList makeChunks(const ConvView& view, const ChunkSizes& sizes, std::int64_t splits) {
  ChunkList out;
  const Dhw& e = view.small.extent;
  const std::int64_t columns = std::min(sizes.columns, e.w);
  const std::int64_t rows = columns < e.w ? 1 : std::min(sizes.rows, e.h);
  const std::int64_t depths = rows < e.h || columns < e.w ? 1 : std::min(sizes.depths, e.d);
  const bool part = depths < e.d || rows < e.h || columns < e.w;
  const std::int64_t images = part ? 1 : std::max<std::int64_t>(1, std::min(sizes.images, view.batch));
  cut(view.batch, images, [&](const Range& n) {
    cut(e.d, depths, [&](const Range& d) {
      cut(e.h, rows, [&](const Range& h) {
        cut(e.w, columns, [&](const Range& w) { out.chunks.push_back(PixelChunk{n, d, h, w, false, 0}); });
      });
    });
  });
  const auto count = static_cast<std::int64_t>(out.chunks.size());
  for (std::int64_t s = 0; s < splits; ++s) {
    const std::int64_t begin = count * s / splits;
    if (begin < count * (s + 1) / splits) out.chunks[static_cast<std::size_t>(begin)].first = true;
  }
  std::vector<std::vector<std::int64_t>> known;
  for (std::size_t i = 0; i < out.chunks.size(); ++i) {
    std::vector<std::int64_t> key = signature(view, out.chunks[i]);
    const auto at = std::find(known.begin(), known.end(), key);
    out.chunks[i].cls = static_cast<int>(at - known.begin());
    if (at != known.end()) continue;
    known.push_back(std::move(key));
    out.representative.push_back(static_cast<int>(i));
  }
  out.classes = static_cast<int>(known.size());
  return out;
}

std::vector<ColumnRun> columnRuns(const ConvView& v, const PixelChunk& chunk, std::int64_t k0, std::int64_t taps) {
  std::vector<Range> reaches;
  for (std::int64_t t = 0; t < taps; ++t) {
    const Range r = validPixels(chunk.w, k0 + t, v.stride.w, v.dilation.w, v.pad.w, v.big.extent.w);
    reaches.push_back({r.lo, r.hi});
  }
  return columnRuns(reaches, chunk.w.length());
}

}  // namespace cubejit
