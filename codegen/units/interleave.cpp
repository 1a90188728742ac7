// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tree of permutes: an even number of rows is merged in pairs, and pairs of elements are then merged as units twice
// as wide; an odd number is collected source by source.
#include "codegen/units/interleave.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace cubejit {
namespace {

constexpr std::int64_t kMostRows = 6;  // beyond, a transpose with masked stores is as good

class Builder {
 public:
  Builder(int lanes, int rows) : lanes_(lanes) {
    std::vector<int> in;
    for (int r = 0; r < rows; ++r) in.push_back(r);
    tree_.registers = rows;
    tree_.results = merge(in, 1);
  }

  Interleave::Tree take() { return std::move(tree_); }

 private:
  // Registers that hold, in order, the units of `in` taken in turn. A unit is `unit` neighbouring lanes.
  std::vector<int> merge(const std::vector<int>& in, int unit) {
    const std::size_t n = in.size();
    if (n == 1) return in;
    if (n % 2 != 0 || n == 2) return collect(in, unit);
    std::vector<int> lower, upper;
    for (std::size_t i = 0; i < n; i += 2) {
      const std::vector<int> pair = collect({in[i], in[i + 1]}, unit);
      lower.push_back(pair[0]);
      upper.push_back(pair[1]);
    }
    std::vector<int> out = merge(lower, 2 * unit);
    const std::vector<int> rest = merge(upper, 2 * unit);
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
  }

  // The same without further splitting: each result gathers its lanes from two sources, then from one more at a time.
  std::vector<int> collect(const std::vector<int>& in, int unit) {
    const int n = static_cast<int>(in.size());
    std::vector<int> out;
    for (int k = 0; k < n; ++k) {
      // The last result of a pair may replace its first source: that saves a copy and a register.
      const int dst = n == 2 && k == 1 ? in[0] : fresh();
      for (int source = 1; source < n; ++source) {
        std::vector<std::int32_t> table;
        bool needed = source == 1;
        for (int l = 0; l < lanes_; ++l) {
          const int word = k * lanes_ + l, from = word / unit % n, lane = word / unit / n * unit + word % unit;
          if (from == source)
            table.push_back(lanes_ + lane);
          else
            table.push_back(source == 1 ? lane : l);  // of source 0, or what was gathered already
          needed = needed || from == source;
        }
        if (needed)
          tree_.permutes.push_back(
              {dst, indexOf(std::move(table)), source == 1 ? in[0] : dst, in[static_cast<std::size_t>(source)]});
      }
      out.push_back(dst);
    }
    for (std::size_t i = n == 2 ? 1 : 0; i < in.size(); ++i) free_.push_back(in[i]);
    return out;
  }

  int indexOf(std::vector<std::int32_t> table) {
    const auto at = std::find(tree_.tables.begin(), tree_.tables.end(), table);
    if (at != tree_.tables.end()) return static_cast<int>(at - tree_.tables.begin());
    tree_.tables.push_back(std::move(table));
    return static_cast<int>(tree_.tables.size()) - 1;
  }

  int fresh() {
    if (free_.empty()) return tree_.registers++;
    const int reg = free_.back();
    free_.pop_back();
    return reg;
  }

  const int lanes_;
  Interleave::Tree tree_;
  std::vector<int> free_;
};

}  // namespace

Interleave::Interleave(VectorAssembler& a, const HostIsa& isa, std::int64_t rows, std::int64_t zeroRows,
                       std::int64_t srcPitch)
    : a_(a),
      lanes_(isa.lanes()),
      rows_(rows),
      all_(rows + zeroRows),
      srcPitch_(srcPitch),
      tree_(Builder(lanes_, static_cast<int>(all_)).take()),
      resident_(tree_.registers + static_cast<int>(tree_.tables.size()) <=
                isa.vectorRegs - (isa.maskRegs > 0 ? 0 : 3)) {
  for (const auto& table : tree_.tables) constants_.push_back(a_.addConstant(table));
}

bool Interleave::applies(std::int64_t rows, std::int64_t zeroRows, std::int64_t srcPitch) {
  const std::int64_t all = rows + zeroRows;
  return rows >= 1 && all >= 2 && all <= kMostRows &&
         std::abs(srcPitch) <= std::numeric_limits<std::int32_t>::max() / kMostRows;
}

void Interleave::loadTables() {
  for (std::size_t t = 0; resident_ && t < constants_.size(); ++t)
    a_.constant(tree_.registers + static_cast<int>(t), constants_[t]);
}

void Interleave::block(int src, int dst, std::int64_t cols) {
  for (int r = 0; r < static_cast<int>(all_); ++r) {
    if (r < rows_)
      a_.load(r, src, r * srcPitch_, lanesUpTo(cols, lanes_));
    else
      a_.zero(r);
  }
  for (const Permute& p : tree_.permutes) {
    const int table = resident_ ? tree_.registers + p.table : tree_.registers;
    if (!resident_) a_.constant(table, constants_[static_cast<std::size_t>(p.table)]);
    a_.permute2(p.dst, table, p.lo, p.hi);
  }
  for (std::int64_t k = 0; k * lanes_ < cols * all_; ++k) {
    a_.store(tree_.results[static_cast<std::size_t>(k)], dst, k * lanes_ * 4,
             lanesUpTo(cols * all_ - k * lanes_, lanes_));
  }
}

}  // namespace cubejit
