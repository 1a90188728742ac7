// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides blocks and their classes on one axis.
#include "algorithms/kit/lower/blocked_axis.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "algorithms/kit/lower/class_numbers.h"

namespace cubejit {
namespace {

using ClassKey = std::tuple<std::vector<int>, std::int64_t, std::int64_t, std::int64_t>;

// The block [j0, j0 + blockLength) of a residue that has not ended.
BlockClass blockAt(const ResidueClass& residue, std::int64_t j0, std::int64_t blockLength) {
  BlockClass cls;
  cls.length = std::min(blockLength, residue.count - j0);
  for (const BlockTap& tap : residue.taps) {
    const std::int64_t lo = std::max<std::int64_t>(0, tap.lo - j0), hi = std::min(cls.length, tap.hi - j0);
    if (lo < hi) cls.taps.push_back(BlockTap{tap.k, tap.offset, lo, hi});
  }
  return cls;
}

// Merges register blocks that are equal in every cache class.
void classifyRegisterBlocks(BlockedAxis& axis) {
  ClassNumbers<std::vector<int>> numbers;
  std::vector<std::vector<int>> columns;
  for (std::size_t i = 0; i < axis.registerBlocks.size(); ++i) {
    std::vector<int> column;
    for (const std::vector<int>& row : axis.blockClass) column.push_back(row[i]);
    const auto [cls, fresh] = numbers.of(column);
    axis.registerBlocks[i].cls = cls;
    if (fresh) columns.push_back(std::move(column));
  }
  axis.registerClasses = std::max(1, static_cast<int>(columns.size()));
  for (std::size_t row = 0; row < axis.blockClass.size(); ++row) {
    axis.blockClass[row].resize(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) axis.blockClass[row][i] = columns[i][row];
  }
}

// [least, most] operand position of a residue's tap, from operandStep * j.
std::pair<std::int64_t, std::int64_t> offsetsOf(const std::vector<ResidueClass>& residues) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = std::numeric_limits<std::int64_t>::min();
  for (const ResidueClass& residue : residues) {
    for (const BlockTap& tap : residue.taps) {
      least = std::min(least, tap.offset);
      most = std::max(most, tap.offset);
    }
  }
  return least > most ? std::pair<std::int64_t, std::int64_t>{0, 0} : std::pair{least, most};
}

}  // namespace

const BlockClass* BlockedAxis::blockOf(int cacheClass, int registerClass) const {
  const auto row = static_cast<std::size_t>(cacheClass), column = static_cast<std::size_t>(registerClass);
  if (row >= blockClass.size() || column >= blockClass[row].size() || blockClass[row][column] < 0) return nullptr;
  return &classes[static_cast<std::size_t>(blockClass[row][column])];
}

std::int64_t BlockedAxis::operandsOf(int cacheClass) const {
  const auto at = static_cast<std::size_t>(cacheClass);
  return at < ofClass.size() ? cacheBlocks[ofClass[at]].operands.length() : 0;
}

std::int64_t BlockedAxis::resultsOf(int cacheClass) const {
  const auto at = static_cast<std::size_t>(cacheClass);
  return at < ofClass.size() ? cacheBlocks[ofClass[at]].results.length() : 0;
}

BlockedAxis makeBlockedAxis(const AxisRelation& rel, std::int64_t registerLength, std::int64_t cacheLength) {
  BlockedAxis out;
  out.resultStep = rel.gather ? rel.stride : 1;
  out.operandStep = rel.gather ? 1 : rel.stride;
  const std::vector<ResidueClass> residues = residueClasses(rel);
  const auto [leastOffset, mostOffset] = offsetsOf(residues);
  // Cache blocks cover every result, also those of residue classes no tap reaches.
  const std::int64_t longest = ceilDiv(rel.results, out.resultStep),
                     length = cacheLength <= 0 ? std::max<std::int64_t>(longest, 1) : cacheLength;
  const std::vector<Range> blocks = cutInto(std::min(length, std::max<std::int64_t>(longest, 1)), registerLength);
  // Where every tap finds an operand, blocks are alike.
  Range inside{0, longest};
  std::vector<Range> insideOf;
  for (const ResidueClass& residue : residues) {
    Range own{0, residue.count};
    for (const BlockTap& tap : residue.taps) own = {std::max(own.lo, tap.lo), std::min(own.hi, tap.hi)};
    insideOf.push_back(own);
    inside = {std::max(inside.lo, own.lo), std::min(inside.hi, own.hi)};
  }
  for (const ResidueClass& residue : residues) {
    for (const Range& block : blocks)
      out.registerBlocks.push_back({residue.start + out.resultStep * block.lo, out.operandStep * block.lo, 0});
  }
  ClassNumbers<ClassKey> keys;
  ClassNumbers<BlockClass> numbers;
  // -1 if the residue has ended.
  std::vector<int> wholeInside(residues.size(), -1);  // class of whole blocks inside, by residue
  const auto classOf = [&](std::size_t of, std::int64_t j0) {
    const ResidueClass& residue = residues[of];
    if (j0 >= residue.count) return -1;
    const bool whole = insideOf[of].lo <= j0 && j0 + registerLength <= insideOf[of].hi;
    if (whole && wholeInside[of] >= 0) return wholeInside[of];
    BlockClass block = blockAt(residue, j0, registerLength);
    const auto [cls, fresh] = numbers.of(block);
    if (fresh) out.classes.push_back(std::move(block));
    if (whole) wholeInside[of] = cls;
    return cls;
  };
  int cacheInside = -1;  // class of the first whole block inside
  AxisCacheBlock first;  // that block
  for (const Range& js : cutInto(longest, length)) {
    AxisCacheBlock cache;
    cache.results.lo = out.resultStep * js.lo;
    cache.results.hi = std::min(cache.results.lo + out.resultStep * length, rel.results);
    BlockStart& start = cache.operandStart;
    start.base = out.operandStep * js.lo;
    start.origin = start.base + leastOffset;
    start.first = std::clamp<std::int64_t>(start.origin, 0, rel.operands);
    const std::int64_t end = std::clamp<std::int64_t>(out.operandStep * (js.hi - 1) + mostOffset + 1, 0, rel.operands);
    cache.operands = {start.first, std::max(start.first, end)};
    const bool whole = inside.lo <= js.lo && js.lo + length <= inside.hi;
    const bool alike = cacheInside >= 0 && cache.results.length() == first.results.length() &&
                       cache.operands.length() == first.operands.length() &&
                       start.first - start.origin == first.operandStart.first - first.operandStart.origin;
    if (whole && alike) {
      cache.cls = cacheInside;
      out.cacheBlocks.push_back(cache);
      continue;
    }
    std::vector<int> row;
    for (std::size_t residue = 0; residue < residues.size(); ++residue) {
      for (const Range& block : blocks) row.push_back(classOf(residue, js.lo + block.lo));
    }
    // Where no operands are, it does not matter where they would begin.
    const std::int64_t skipped = cache.operands.length() > 0 ? start.first - start.origin : 0;
    const auto [cls, fresh] = keys.of(ClassKey{row, cache.operands.length(), cache.results.length(), skipped});
    cache.cls = cls;
    if (whole && cacheInside < 0) {
      cacheInside = cls;
      first = cache;
    }
    if (fresh) {
      out.blockClass.push_back(std::move(row));
      out.ofClass.push_back(out.cacheBlocks.size());
    }
    out.panelOperands = std::max(out.panelOperands, cache.operands.hi - start.origin);
    out.panelResults = std::max(out.panelResults, cache.results.length());
    out.cacheBlocks.push_back(cache);
  }
  out.cacheClasses = std::max(1, keys.count());
  classifyRegisterBlocks(out);
  return out;
}

}  // namespace cubejit
