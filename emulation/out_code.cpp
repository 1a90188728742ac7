// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which calls of the kernels a strip is: rows as they are where columns are neighbours in memory, turned 16 x 16 where rows
// are, column by column elsewhere.
#include "emulation/out_code.h"

#include <algorithm>

namespace cubejit {
namespace {

constexpr std::int64_t kSide = 16, kRun = 32;

// The kernel of a family that makes elements of a type.
UnitKernel kernelFor(UnitKernel family, DType type) {
  const int kind = byteSize(type) == 4 ? 0 : type == DType::kF16 ? 1 : 2;
  return static_cast<UnitKernel>(static_cast<int>(family) + kind);
}

class StripMover {
 public:
  StripMover(const UnitCode& code, const OutStrip& s, const OutMemory& to, const BlockPlaces& places)
      : code_(code), s_(s), to_(to), places_(places), e_(byteSize(to.type)) {}

  // All of the strip, if one of the fast ways takes it.
  bool together() const {
    if (!places_.rowGroup.empty() || !allRowsExist(0, s_.rows)) return false;
    const bool neighbours = evenColumns(s_.columns, 1);
    if (!neighbours) return false;
    if (s_.columns == kSide && s_.add) return rows(UnitKernel::kAdd, UnitKernel::kAddRows, kSide);
    if (s_.columns == kSide / 2 && s_.add) return rows(UnitKernel::kAddRun, UnitKernel::kAddRunRows, kSide);
    if (s_.columns == kSide)
      return rows(kernelFor(UnitKernel::kOutF32, to_.type), kernelFor(UnitKernel::kOutRowsF32, to_.type), kSide);
    if (s_.columns == kSide / 2)
      return rows(kernelFor(UnitKernel::kOutRunF32, to_.type), kernelFor(UnitKernel::kOutRunRowsF32, to_.type),
                  kSide / 2);
    return false;
  }

  // Columns equally far apart, the others missing: pixels inside. Number of elements, 0 if not so.
  std::int64_t turned() const {
    const std::int64_t have = leadingColumns();
    if (s_.add || s_.pitch != kSide || have == 0 || !places_.rowGroup.empty() || !allRowsExist(0, s_.rows)) return 0;
    const std::int64_t step = have > 1 ? column(1) - column(0) : 1;
    if (!evenColumns(have, step) || evenRows(0, 0, s_.rows).second != 1 || s_.rows < kSide) return 0;
    alignas(64) std::byte turned[kSide * kSide * 4];
    const UnitKernel out = e_ == 4 ? UnitKernel::kOutF32 : UnitKernel::kRuns;
    for (std::int64_t r = 0; r < s_.rows;) {
      const std::int64_t even = evenRows(0, r, s_.rows).first;
      const std::int64_t whole = evenRows(0, r, s_.rows).second == 1 ? even / kSide * kSide : 0;
      for (const std::int64_t end = r + whole; r < end; r += kSide) {
        code_.call(kernelFor(UnitKernel::kTurnF32, to_.type), movedBy(sums(r, 0), turned, 1, 0, 0));
        code_.call(out, movedBy(turned, place(r, 0), have, kSide * e_, step * e_));
      }
      const std::int64_t rest = even - whole;
      for (std::int64_t c = 0; rest > 0 && c < have; ++c) someRows(c, r, rest);
      r += rest;
    }
    return s_.rows * have;
  }

  // Column by column.
  std::int64_t columns() const {
    std::int64_t written = 0;
    for (std::int64_t c = 0; c < s_.columns; ++c) {
      for (std::int64_t r = 0; r < s_.rows;) {
        if (!exists(r, c)) {
          ++r;
          continue;
        }
        const std::int64_t count = evenRows(c, r, s_.rows).first;
        someRows(c, r, count);
        written += count;
        r += count;
      }
    }
    return written;
  }

 private:
  std::int64_t row(std::int64_t r) const { return places_.row[static_cast<std::size_t>(s_.firstRow + r)]; }
  std::int64_t column(std::int64_t c) const { return places_.column[static_cast<std::size_t>(s_.column + c)]; }
  bool exists(std::int64_t r, std::int64_t c) const {
    return places_.exists(static_cast<std::size_t>(s_.firstRow + r), static_cast<std::size_t>(s_.column + c));
  }
  const float* sums(std::int64_t r, std::int64_t c) const { return s_.sums + r * s_.pitch + c; }
  std::byte* place(std::int64_t r, std::int64_t c) const { return to_.data + (row(r) + column(c)) * e_; }

  bool allRowsExist(std::int64_t begin, std::int64_t end) const {
    if (!places_.even.empty()) return true;
    const auto first = places_.row.begin() + s_.firstRow;
    return std::find(first + begin, first + end, kMissing) == first + end;
  }
  bool evenColumns(std::int64_t count, std::int64_t step) const {
    for (std::int64_t c = 0; c < count; ++c) {
      if (column(c) == kMissing || (c > 0 && column(c) - column(c - 1) != step)) return false;
    }
    return true;
  }
  // How many columns exist, if none does behind the first that does not.
  std::int64_t leadingColumns() const {
    std::int64_t have = 0;
    while (have < s_.columns && column(have) != kMissing) ++have;
    for (std::int64_t c = have; c < s_.columns; ++c) {
      if (column(c) != kMissing) return 0;
    }
    return have;
  }
  // Rows from r on that exist in column c and are equally far apart: how many, and how far.
  std::pair<std::int64_t, std::int64_t> evenRows(std::int64_t c, std::int64_t r, std::int64_t end) const {
    if (!places_.even.empty() && places_.rowGroup.empty()) {  // any column that exists
      const std::int64_t at = s_.firstRow + r;
      const auto run =
          std::find_if(places_.even.begin(), places_.even.end(), [&](const auto& e) { return at < e.end; });
      return {std::min(run->end - at, end - r), run->step};
    }
    if (r + 1 >= end || !exists(r + 1, c)) return {1, 0};
    const std::int64_t step = row(r + 1) - row(r);
    std::int64_t next = r + 2;
    while (next < end && row(next) - row(next - 1) == step && exists(next, c)) ++next;
    return {next - r, step};
  }
  std::int64_t stepAfter(std::int64_t r, std::int64_t count) const { return count > 1 ? row(r + 1) - row(r) : 0; }

  // Whole rows, by a kernel of as many columns, or by one of 16 such rows where they are `pitch` apart.
  bool rows(UnitKernel kernel, UnitKernel together, std::int64_t pitch) const {
    for (std::int64_t r = 0; r < s_.rows;) {
      auto [count, step] = evenRows(0, r, s_.rows);
      const std::int64_t whole = step == pitch && s_.pitch == kSide ? count / kSide : 0;
      if (whole > 0)
        code_.call(together, movedBy(sums(r, 0), place(r, 0), whole, kSide * kSide * 4, kSide * step * e_));
      r += whole * kSide;
      count -= whole * kSide;
      if (count > 0) code_.call(kernel, movedBy(sums(r, 0), place(r, 0), count, s_.pitch * 4, step * e_));
      r += count;
    }
    return true;
  }
  void someRows(std::int64_t c, std::int64_t r, std::int64_t count) const {
    const UnitKernel kernel = s_.add ? UnitKernel::kAddOne : kernelFor(UnitKernel::kOutOneF32, to_.type);
    code_.call(kernel, movedBy(sums(r, c), place(r, c), count, s_.pitch * 4, stepAfter(r, count) * e_));
  }

  const UnitCode& code_;
  const OutStrip& s_;
  const OutMemory& to_;
  const BlockPlaces& places_;
  std::int64_t e_;
};

}  // namespace

void BlockPlaces::findEvenRows() {
  even.clear();
  if (std::find(row.begin(), row.end(), kMissing) != row.end()) return;
  const auto count = static_cast<std::int64_t>(row.size());
  for (std::int64_t begin = 0, end = 0; begin < count; begin = end) {
    const auto* rows = row.data();
    end = begin + 1;
    const std::int64_t step = end < count ? rows[end] - rows[begin] : 0;
    while (end < count && rows[end] - rows[end - 1] == step) ++end;
    even.push_back({begin, end, step});
  }
}

std::int64_t moveStrip(const UnitCode& code, const OutStrip& s, const OutMemory& to, const BlockPlaces& places) {
  const StripMover mover(code, s, to, places);
  if (mover.together()) return s.rows * s.columns;
  if (const std::int64_t written = mover.turned(); written > 0) return written;
  if (s.columns <= kSide / 2) return mover.columns();
  // Blocks of 8 channels, or channels that end within the strip.
  constexpr std::int64_t kHalf = kSide / 2;
  OutStrip first = s, second = s;
  first.columns = kHalf;
  second.sums += kHalf;
  second.column += kHalf;
  second.columns -= kHalf;
  return moveStrip(code, first, to, places) + moveStrip(code, second, to, places);
}

void moveRow(const UnitCode& code, const float* sums, std::int64_t count, const OutMemory& to, std::int64_t pitch) {
  if (count > 0)
    code.call(kernelFor(UnitKernel::kOutOneF32, to.type), movedBy(sums, to.data, count, 4, pitch * byteSize(to.type)));
}

void zeroMemory(const UnitCode& code, const OutMemory& to, std::int64_t bytes) {
  const std::int64_t runs = bytes / kRun, e = byteSize(to.type);
  if (runs > 0) code.call(UnitKernel::kZeroRuns, movedBy(to.data, to.data, runs, 0, kRun));
  const float zero[kRun] = {};
  moveRow(code, zero, (bytes - runs * kRun) / e, {to.data + runs * kRun, to.type}, 1);
}

}  // namespace cubejit
