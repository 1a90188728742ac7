// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the permutations are kept, and how rows become 16-bit words before they are permuted.
#include "codegen/units/interleave.h"

#include <cstdlib>
#include <limits>

namespace cubejit {
namespace {

// Beyond, a transpose with masked stores is as good.
constexpr std::int64_t kMostRows = 6, kMostRowsWithOpmasks = 9;

bool permutesWords(const Transpose& m) {
  return m.from == Element::kF32 && (m.to == Element::kF16 || m.to == Element::kBf16Flushed);
}

}  // namespace

bool Interleave::applies(const Transpose& m, const HostIsa& isa) {
  const std::int64_t all = m.rows + m.padCols, most = isa.maskRegs > 0 ? kMostRowsWithOpmasks : kMostRows;
  if (m.cols < 2 || m.dstPitch != all * elementBytes(m.to)) return false;
  if (m.rows < 1 || all < 2 || all > most || std::abs(m.srcPitch) > std::numeric_limits<std::int32_t>::max() / most)
    return false;
  if (m.from == Element::kF32 && m.to == Element::kF32) return true;
  // Words that stay as they are come by whole vectors: the last one overlaps the one before it.
  if (m.from == m.to && elementBytes(m.from) == 2) return isa.bf16Dot && m.cols >= isa.lanes();
  // Words are stored two at a time.
  return isa.bf16Dot && permutesWords(m) && m.cols % isa.lanes() * all % 2 == 0;
}

Interleave::Interleave(VectorAssembler& a, const HostIsa& isa, const Transpose& m)
    : a_(a),
      m_(m),
      tree_(interleaveTree(narrow() ? 2 * m.lanes : m.lanes, m.lanes, static_cast<int>(all()))),
      resident_(tree_.registers + static_cast<int>(tree_.tables.size()) <=
                isa.vectorRegs - (isa.maskRegs > 0 ? 0 : 3)) {
  for (const std::vector<int>& table : tree_.tables) {
    std::vector<std::int32_t> words;
    for (std::size_t i = 0; i < table.size(); i += narrow() ? 2 : 1)
      words.push_back(narrow() ? table[i] | table[i + 1] << 16 : table[i]);
    constants_.push_back(a_.addConstant(std::move(words)));
  }
}

void Interleave::loadTables() {
  for (std::size_t t = 0; resident_ && t < constants_.size(); ++t)
    a_.constant(tree_.registers + static_cast<int>(t), constants_[t]);
}

void Interleave::block(int src, int dst, std::int64_t cols) {
  for (int r = 0; r < static_cast<int>(all()); ++r) {
    if (r >= m_.rows) {
      a_.zero(r);
      continue;
    }
    if (m_.from == m_.to && narrow()) {
      a_.loadLower(r, src, r * m_.srcPitch);
      continue;
    }
    a_.load(r, src, r * m_.srcPitch, lanesUpTo(cols, m_.lanes));
    if (narrow()) a_.narrow(m_.to == Element::kF16 ? VOp::kNarrowF16 : VOp::kNarrowBf16, r, r);
  }
  for (const InterleaveTree::Permute& p : tree_.permutes) {
    const int table = resident_ ? tree_.registers + p.table : tree_.registers;
    if (!resident_) a_.constant(table, constants_[static_cast<std::size_t>(p.table)]);
    if (narrow())
      a_.permuteWords2(p.dst, table, p.lo, p.hi);
    else
      a_.permute2(p.dst, table, p.lo, p.hi);
  }
  const std::int64_t lanes = lanesOf(cols);
  for (std::int64_t k = 0; k * m_.lanes < lanes; ++k) {
    a_.store(tree_.results[static_cast<std::size_t>(k)], dst, k * m_.lanes * 4,
             lanesUpTo(lanes - k * m_.lanes, m_.lanes));
  }
}

}  // namespace cubejit
