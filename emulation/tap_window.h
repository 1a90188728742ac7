// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which runs of an image piece in L1 a tap sees from a row of pixels. Leaves copying them to unit_code and forward.
#pragma once

#include <algorithm>

#include "emulation/core_memory.h"
#include "emulation/unit_models.h"
#include "tiling/rounding.h"

namespace cubejit {

/// What a tap sees of one row of pixels: which of them are inside the image, and where the first one's run is in L1.
struct SeenRow {
  std::int64_t begin = 0, end = 0;  ///< of the pixels asked for, those inside
  const std::byte* first = nullptr;
  std::int64_t pitch = 32;  ///< bytes from one pixel's run to the next one's
};

class TapWindow {
 public:
  TapWindow(const Unfold& i, const UnitContext& c, const CoreMemory& memory)
      : w_(c.work), piece_(i.piece), from_(memory.at(CoreBuffer::kL1, i.piece.l1)) {}

  void setUnit(std::int64_t unit) {
    const std::int64_t tap = unit % w_.tapsHw;
    kh_ = tap / w_.kernel.w * w_.dilation.h;
    kw_ = tap % w_.kernel.w * w_.dilation.w;
    block_ = unit / w_.tapsHw - piece_.blocks.begin;
  }

  /// Pixels [x, x + count) of the row h.
  SeenRow see(std::int64_t h, std::int64_t x, std::int64_t count) const {
    constexpr std::int64_t kRun = 32;
    const std::int64_t row = (w_.spread ? h + w_.pad.h - kh_ : h * w_.stride.h + kh_ - w_.pad.h) - piece_.rows.begin;
    SeenRow seen;
    if (row < 0 || row >= piece_.rows.count) return seen;
    const std::int64_t step = w_.spread ? 1 : w_.stride.w;
    const std::int64_t column = (w_.spread ? x + w_.pad.w - kw_ : x * step + kw_ - w_.pad.w) - piece_.columns.begin;
    seen.begin = column >= 0 ? 0 : std::min(count, ceilDiv(-column, step));
    const std::int64_t inside = column >= piece_.columns.count ? 0 : (piece_.columns.count - 1 - column) / step + 1;
    seen.end = std::max(seen.begin, std::min(count, inside));
    seen.pitch = step * kRun;
    seen.first =
        from_ + ((block_ * piece_.rows.count + row) * piece_.columns.count + column + seen.begin * step) * kRun;
    return seen;
  }

  /// Calls visit(offset, seen, here) for the parts of the pixels [first, first + count) that lie in one row each.
  template <class Visit>
  void eachRow(std::int64_t first, std::int64_t count, const Visit& visit) const {
    for (std::int64_t offset = 0; offset < count;) {
      const std::int64_t x = (first + offset) % w_.row(), here = std::min(count - offset, w_.row() - x);
      visit(offset, see((first + offset) / w_.row(), x, here), here);
      offset += here;
    }
  }

 private:
  const CubeWork& w_;
  const LoadImage& piece_;
  const std::byte* from_;
  std::int64_t kh_ = 0, kw_ = 0, block_ = 0;
};

}  // namespace cubejit
