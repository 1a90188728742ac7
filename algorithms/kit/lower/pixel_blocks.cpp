// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides reduction blocks and their classes.
#include "algorithms/kit/lower/pixel_blocks.h"

#include <algorithm>
#include <utility>

#include "algorithms/kit/axis_phases.h"
#include "algorithms/kit/lower/class_numbers.h"
#include "algorithms/kit/reduction_partition.h"

namespace cubejit {
namespace {

using axis_phases_detail::floorDiv;

// Everything about a block that code and lists depend on.
std::vector<std::int64_t> signature(const ConvView& v, const PixelBlock& block) {
  std::vector<std::int64_t> s{block.n.length(), block.d.length(), block.h.length(), block.w.length(),
                              block.first ? 1 : 0};
  for (int axis = 0; axis < 3; ++axis) {
    for (std::int64_t k = 0; k < v.kernel[axis]; ++k) {
      const Range r = usedPixels(v, axis, block, k);
      s.push_back(r.lo);
      s.push_back(r.hi);
    }
    const BigPositions big = bigPositions(v, axis, block);
    s.push_back(big.inside.length() > 0 ? big.inside.lo - big.start.base : 0);  // else nothing is read
    s.push_back(big.inside.length());
  }
  return s;
}

}  // namespace

Range usedPixels(const ConvView& v, int axis, const PixelBlock& block, std::int64_t k) {
  const Range& own = block.of(axis);
  const std::int64_t shift = k * v.dilation[axis] - v.pad[axis];
  const std::int64_t lo = std::clamp(ceilDiv(-shift, v.stride[axis]), own.lo, own.hi);
  const std::int64_t hi = std::clamp(floorDiv(v.big.extent[axis] - 1 - shift, v.stride[axis]) + 1, lo, own.hi);
  return lo < hi ? Range{lo - own.lo, hi - own.lo} : Range{};
}

BigPositions bigPositions(const ConvView& v, int axis, const PixelBlock& block) {
  const Range& own = block.of(axis);
  BigPositions at;
  at.start.base = own.lo * v.stride[axis] - v.pad[axis];
  const std::int64_t end = (own.hi - 1) * v.stride[axis] - v.pad[axis] + (v.kernel[axis] - 1) * v.dilation[axis] + 1;
  at.inside.lo = std::clamp<std::int64_t>(at.start.base, 0, v.big.extent[axis]);
  at.inside.hi = std::clamp(end, at.inside.lo, v.big.extent[axis]);
  if (axis < 2 || v.cutsRows()) {
    at.start.origin = at.start.base;
    at.start.first = at.inside.lo;
  }
  return at;
}

PixelBlocks makePixelBlocks(const ConvView& view, const ReductionBlock& size, std::int64_t splits) {
  PixelBlocks out;
  const Dhw& e = view.small.extent;
  const std::int64_t columns = columnsOfBlock(view, size), rows = view.cutsRows() ? 1 : std::min(size.h, e.h),
                     depths = view.cutsRows() || rows < e.h ? 1 : std::min(size.d, e.d);
  const bool part = depths < e.d || rows < e.h || columns < e.w;
  const std::int64_t images = part ? 1 : std::max<std::int64_t>(1, std::min(size.n, view.batch));
  const auto pieces = [](std::int64_t extent, std::int64_t most) { return static_cast<double>(ceilDiv(extent, most)); };
  limitWork(pieces(view.batch, images) * pieces(e.d, depths) * pieces(e.h, rows) * pieces(e.w, columns), kMostSteps,
            "reduction blocks");
  for (const Range& n : cutInto(view.batch, images)) {
    for (const Range& d : cutInto(e.d, depths)) {
      for (const Range& h : cutInto(e.h, rows)) {
        for (const Range& w : cutInto(e.w, columns)) out.blocks.push_back(PixelBlock{n, d, h, w, false, 0});
      }
    }
  }
  const auto count = static_cast<std::int64_t>(out.blocks.size());
  splits = std::min(splits, count);
  for (std::int64_t s = 0; s < splits; ++s) {
    const std::int64_t begin = count * s / splits;
    if (begin < count * (s + 1) / splits) out.blocks[static_cast<std::size_t>(begin)].first = true;
  }
  limitWork(static_cast<double>(count) * static_cast<double>(view.kernel.d + view.kernel.h + view.kernel.w),
            kMostBlockTaps, "taps of reduction blocks");
  ClassNumbers<std::vector<std::int64_t>> known;
  for (std::size_t i = 0; i < out.blocks.size(); ++i) {
    const auto [cls, fresh] = known.of(signature(view, out.blocks[i]));
    out.blocks[i].cls = cls;
    if (fresh) out.representative.push_back(static_cast<int>(i));
  }
  out.classes = static_cast<int>(out.representative.size());
  return out;
}

std::vector<ColumnRun> columnRuns(const ConvView& v, const PixelBlock& block, std::int64_t k0, std::int64_t taps) {
  std::vector<Range> used;
  for (std::int64_t t = 0; t < taps; ++t) used.push_back(usedPixels(v, 2, block, k0 + t));
  return columnRuns(used, block.w.length());
}

int addPixelBlockAxis(ProgramBuilder& b, const char* name, const ConvView& v, const PixelBlocks& blocks,
                      const Operand& big, const Operand& small) {
  const int axis = b.addAxis(name, blocks.classes);
  for (const PixelBlock& block : blocks.blocks) {
    AxisDeltas d{{big.tensor, block.n.lo * v.big.nStride}, {small.tensor, block.n.lo * v.small.nStride}};
    for (int i = 0; i < 3; ++i) {
      const std::int64_t own = block.of(i).lo;
      big.toBlock(d, static_cast<std::size_t>(i), bigPositions(v, i, block).start);
      small.toBlock(d, static_cast<std::size_t>(i), {own, own, own});
    }
    b.addStep(axis, d, block.cls);
  }
  return axis;
}

}  // namespace cubejit
