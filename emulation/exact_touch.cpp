// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond the header.
#include "emulation/exact_touch.h"

#include <algorithm>

namespace cubejit {

void joinRanges(std::vector<ByteRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::size_t kept = 0;
  for (const ByteRange& r : ranges) {
    if (kept > 0 && r.begin <= ranges[kept - 1].end)
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, r.end);
    else
      ranges[kept++] = r;
  }
  ranges.resize(kept);
}

const std::vector<ByteRange>& ExactTouch::rangesOf(const Variant& v, CallOperand operand) {
  const auto [known, fresh] = known_.try_emplace({v.kernel, v.list, operand});
  std::vector<ByteRange>& ranges = known->second;
  if (!fresh) return ranges;
  const SegmentList* list = v.list < 0 ? nullptr : &program_->lists[static_cast<std::size_t>(v.list)];
  visitTouched(program_->kernels[static_cast<std::size_t>(v.kernel)], list, operand, [&](ByteRange r) {
    if (r.empty()) return true;
    if (!ranges.empty() && ranges.back().end == r.begin)
      ranges.back().end = r.end;
    else
      ranges.push_back(r);
    return true;
  });
  joinRanges(ranges);
  return ranges;
}

}  // namespace cubejit
