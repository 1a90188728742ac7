// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides slabs and their classes on one axis.
#include "algorithms/kit/lower/slab_axis.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace cubejit {
namespace {

using ClassKey = std::tuple<std::vector<int>, std::int64_t, std::int64_t, std::int64_t>;

template <class T>
int indexOf(std::vector<T>& known, const T& value) {
  const auto found = std::find(known.begin(), known.end(), value);
  if (found != known.end()) return static_cast<int>(found - known.begin());
  known.push_back(value);
  return static_cast<int>(known.size()) - 1;
}

// The class of block [j0, j0 + blockLength) of a phase; -1 if the phase has ended.
int classOfBlock(const AxisPhase& phase, std::int64_t j0, std::int64_t blockLength, std::vector<BlockClass>& classes) {
  if (j0 >= phase.count) return -1;
  BlockClass cls;
  cls.length = std::min(blockLength, phase.count - j0);
  for (const BlockTap& tap : phase.taps) {
    const std::int64_t lo = std::max<std::int64_t>(0, tap.lo - j0), hi = std::min(cls.length, tap.hi - j0);
    if (lo < hi) cls.taps.push_back(BlockTap{tap.k, tap.offset, lo, hi});
  }
  return indexOf(classes, cls);
}

// Merges locals whose blocks are equal in every slab class: blockClass[slab][local] becomes blockClass[slab][local class].
void classifyLocals(SlabAxis& axis) {
  std::vector<std::vector<int>> columns;
  for (std::size_t i = 0; i < axis.locals.size(); ++i) {
    std::vector<int> column;
    for (const std::vector<int>& row : axis.blockClass) column.push_back(row[i]);
    axis.locals[i].cls = indexOf(columns, column);
  }
  axis.localClasses = static_cast<int>(columns.size());
  for (std::size_t row = 0; row < axis.blockClass.size(); ++row) {
    axis.blockClass[row].resize(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) axis.blockClass[row][i] = columns[i][row];
  }
}

}  // namespace

SlabAxis makeSlabAxis(const AxisRelation& rel, std::int64_t blockLength, std::int64_t slabLength) {
  SlabAxis out;
  out.resultStep = rel.gather ? rel.stride : 1;
  out.operandStep = rel.gather ? 1 : rel.stride;
  const std::vector<AxisPhase> phases = axisPhases(rel);
  // Slabs cover every result, also those of residue classes no tap reaches.
  std::int64_t longest = axis_phases_detail::ceilDiv(rel.results, out.resultStep),
               minOffset = std::numeric_limits<std::int64_t>::max(),
               maxOffset = std::numeric_limits<std::int64_t>::min();
  for (const AxisPhase& phase : phases) {
    for (const BlockTap& tap : phase.taps) {
      minOffset = std::min(minOffset, tap.offset);
      maxOffset = std::max(maxOffset, tap.offset);
    }
  }
  if (minOffset > maxOffset) minOffset = maxOffset = 0;
  const std::int64_t length = slabLength <= 0 ? std::max<std::int64_t>(longest, 1) : slabLength;
  const std::int64_t localBlocks =
      (std::min(length, std::max<std::int64_t>(longest, 1)) + blockLength - 1) / blockLength;
  for (const AxisPhase& phase : phases) {
    for (std::int64_t b = 0; b < localBlocks; ++b) {
      out.locals.push_back(
          SlabLocal{phase.start + out.resultStep * b * blockLength, out.operandStep * b * blockLength, 0});
    }
  }
  std::vector<ClassKey> keys;
  for (std::int64_t js = 0; js < longest; js += length) {
    Slab slab;
    slab.resultStart = out.resultStep * js;
    slab.resultCount = std::min(out.resultStep * length, rel.results - slab.resultStart);
    slab.operandBase = out.operandStep * js;
    slab.operandOrigin = slab.operandBase + minOffset;
    const std::int64_t lastRow = std::min(length, longest - js) - 1;
    slab.operandStart = std::clamp<std::int64_t>(slab.operandOrigin, 0, rel.operands);
    const std::int64_t end =
        std::clamp<std::int64_t>(slab.operandBase + out.operandStep * lastRow + maxOffset + 1, 0, rel.operands);
    slab.operandCount = std::max<std::int64_t>(0, end - slab.operandStart);
    std::vector<int> blocks;
    for (const AxisPhase& phase : phases) {
      for (std::int64_t b = 0; b < localBlocks; ++b) {
        blocks.push_back(classOfBlock(phase, js + b * blockLength, blockLength, out.classes));
      }
    }
    const std::size_t known = keys.size();
    slab.cls =
        indexOf(keys, ClassKey{blocks, slab.operandCount, slab.resultCount, slab.operandStart - slab.operandOrigin});
    if (keys.size() > known) {
      out.blockClass.push_back(std::move(blocks));
      out.operandCountOf.push_back(slab.operandCount);
      out.resultCountOf.push_back(slab.resultCount);
    }
    out.panelOperandRows = std::max(out.panelOperandRows, slab.operandStart + slab.operandCount - slab.operandOrigin);
    out.panelResultRows = std::max(out.panelResultRows, slab.resultCount);
    out.slabs.push_back(slab);
  }
  out.slabClasses = static_cast<int>(keys.size());
  classifyLocals(out);
  return out;
}

}  // namespace cubejit
