// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by rows: of a row of pixels a tap sees one row of the image, from its first element to its last.
#include "emulation/seen_fractals.h"

#include <algorithm>

#include "tiling/npu/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSide = 16;

// Columns of the image in L1 that hold elements, and pixels that see them: pixel x sees column x * step + shift.
struct Columns {
  std::int64_t begin, end, gap, step, shift;

  // Of the pixels [x0, x1) those from the first to the last that see an element; empty if none does.
  Span seenBy(std::int64_t x0, std::int64_t x1) const {
    const std::int64_t from = std::max(begin, x0 * step + shift), to = std::min(end - 1, (x1 - 1) * step + shift);
    if (from > to) return {};
    if (step > 1) {  // no gaps
      const std::int64_t first = ceilDiv(from - shift - x0 * step, step), last = (to - shift - x0 * step) / step;
      return first > last ? Span{} : Span{x0 + first, last - first + 1};
    }
    const std::int64_t first = roundUp(from, gap), last = to / gap * gap;
    return first > last ? Span{} : Span{first - shift, last - first + 1};
  }
};

}  // namespace

bool leavesFractalsUnseen(const CubeWork& w) { return w.gradient == Gradient::kDx && w.spread && w.stride.h > 1; }

void findSeen(const Unfold& i, const CubeWork& w, SeenFractals& seen) {
  seen.units = i.units.count;
  seen.m1 = ceilDiv(i.pixels.count, kSide);
  seen.count = 0;
  seen.flags.assign(static_cast<std::size_t>(seen.units * seen.m1), 0);
  const std::int64_t gapH = w.spread ? w.stride.h : 1, stepH = w.spread ? 1 : w.stride.h;
  const std::int64_t h0 = i.pixels.begin / w.row(), h1 = (i.pixels.end() - 1) / w.row();
  for (std::int64_t u = 0; u < seen.units; ++u) {
    const std::int64_t tap = (i.units.begin + u) % w.tapsHw;
    const std::int64_t kh = tap / w.kernel.w * w.dilation.h, kw = tap % w.kernel.w * w.dilation.w;
    const std::int64_t shiftH = w.spread ? w.pad.h - kh : kh - w.pad.h;
    const Columns columns{i.piece.columns.begin, i.piece.columns.end(), w.spread ? w.stride.w : 1,
                          w.spread ? 1 : w.stride.w, w.spread ? w.pad.w - kw : kw - w.pad.w};
    std::uint8_t* flags = seen.flags.data() + u * seen.m1;
    for (std::int64_t h = h0; h <= h1; ++h) {
      const std::int64_t row = h * stepH + shiftH;
      if (row < i.piece.rows.begin || row >= i.piece.rows.end() || row % gapH != 0) continue;
      const std::int64_t first = h * w.row();  // pixel
      const Span x =
          columns.seenBy(std::max<std::int64_t>(0, i.pixels.begin - first), std::min(w.row(), i.pixels.end() - first));
      if (x.count == 0) continue;
      const std::int64_t begin = first + x.begin - i.pixels.begin;
      for (std::int64_t m = begin / kSide; m <= (begin + x.count - 1) / kSide; ++m) {
        seen.count += flags[m] == 0 ? 1 : 0;
        flags[m] = 1;
      }
    }
  }
}

}  // namespace cubejit
