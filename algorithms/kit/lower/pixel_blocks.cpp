// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides reduction blocks and their classes.
#include "algorithms/kit/lower/pixel_blocks.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "algorithms/kit/lower/class_numbers.h"
#include "algorithms/kit/reduction_partition.h"
#include "algorithms/kit/residue_classes.h"

namespace cubejit {
namespace {

using residue_classes_detail::floorDiv;

// A range of an axis' pixels, and which of the axis' ranges code and lists cannot tell from it.
struct PixelPiece {
  Range pixels;
  int cls = 0;
};

std::vector<PixelPiece> piecesOf(const ConvView& v, int axis, std::int64_t most) {
  std::vector<PixelPiece> out;
  ClassNumbers<std::vector<std::int64_t>> known;
  for (const Range& pixels : cutInto(v.small.extent[axis], most)) {
    PixelBlock block;
    block.of(axis) = pixels;
    std::vector<std::int64_t> signature{pixels.length()};
    for (std::int64_t k = 0; k < v.kernel[axis]; ++k) {
      const Range r = usedPixels(v, axis, block, k);
      signature.insert(signature.end(), {r.lo, r.hi});
    }
    const BigPositions big = bigPositions(v, axis, block);
    signature.push_back(big.inside.length() > 0 ? big.inside.lo - big.start.base : 0);  // else nothing is read
    signature.push_back(big.inside.length());
    out.push_back({pixels, known.of(std::move(signature)).first});
  }
  return out;
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
  limitWork(pieces(e.d, depths) * static_cast<double>(view.kernel.d) +
                pieces(e.h, rows) * static_cast<double>(view.kernel.h) +
                pieces(e.w, columns) * static_cast<double>(view.kernel.w),
            kMostBlockTaps, "taps of reduction blocks");
  const std::vector<PixelPiece> ofD = piecesOf(view, 0, depths), ofH = piecesOf(view, 1, rows),
                                ofW = piecesOf(view, 2, columns);
  const std::vector<Range> ofN = cutInto(view.batch, images);
  const auto count = static_cast<std::int64_t>(ofN.size() * ofD.size() * ofH.size() * ofW.size());
  splits = std::min(splits, count);
  std::int64_t split = 0;  // the one whose blocks come next
  ClassNumbers<std::tuple<std::int64_t, int, int, int, bool>> known;
  for (const Range& n : ofN) {
    for (const PixelPiece& d : ofD) {
      for (const PixelPiece& h : ofH) {
        for (const PixelPiece& w : ofW) {
          const bool first = split < splits && std::ssize(out.blocks) == count * split / splits;
          if (first) ++split;
          const auto [cls, fresh] = known.of(std::tuple{n.length(), d.cls, h.cls, w.cls, first});
          if (fresh) out.representative.push_back(static_cast<int>(out.blocks.size()));
          out.blocks.push_back(PixelBlock{n, d.pixels, h.pixels, w.pixels, first, cls});
        }
      }
    }
  }
  out.classes = static_cast<int>(out.representative.size());
  return out;
}

std::vector<ColumnRun> columnRuns(const ConvView& v, const PixelBlock& block, std::int64_t k0, std::int64_t taps) {
  std::vector<Range> used;
  for (std::int64_t t = 0; t < taps; ++t) used.push_back(usedPixels(v, 2, block, k0 + t));
  return columnRuns(used, block.w.length());
}

ReductionAxes addReductionAxes(ProgramBuilder& b, const ConvView& v, const PixelBlocks& blocks, const Operand& big,
                               const Operand& small, int sums, std::int64_t parts, std::int64_t partBytes) {
  const int axis = b.addAxis("reduction_block", blocks.classes);
  for (const PixelBlock& block : blocks.blocks) {
    AxisDeltas d{{big.tensor, block.n.lo * v.big.nStride}, {small.tensor, block.n.lo * v.small.nStride}};
    for (int i = 0; i < 3; ++i) {
      const std::int64_t own = block.of(i).lo;
      big.toBlock(d, static_cast<std::size_t>(i), bigPositions(v, i, block).start);
      small.toBlock(d, static_cast<std::size_t>(i), {own, own, own});
    }
    b.addStep(axis, d, block.cls);
  }
  const int split = b.addPartition("split", axis, parts);
  for (std::int64_t s = 0; s < parts; ++s) b.moveStep(split, s, sums, s * partBytes);
  return {axis, split};
}

}  // namespace cubejit
