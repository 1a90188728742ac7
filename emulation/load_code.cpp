// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which calls of the kernels a load is.
#include "emulation/load_code.h"

#include <algorithm>

#include "tiling/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kRun = 32;

std::int64_t at(const std::vector<std::int64_t>& table, std::int64_t i) { return table[static_cast<std::size_t>(i)]; }

// Runs of one operand, from memory to L1. Distances in memory are elements.
class RunLoader {
 public:
  RunLoader(const UnitCode& code, const LoadCode& loads, LoadOperand operand, const std::byte* data, std::int64_t c0)
      : code_(code),
        loads_(loads),
        shape_(loads.shape.of(operand)),
        first_(static_cast<std::size_t>(operand) * kLoadKernels),
        data_(data),
        c0_(c0),
        e_(loads.shape.elementBytes) {}

  // Runs of the channels first .. first + have, c0 at most, of `count` places `pitch` apart, the first at `place`; in L1 toPitch
  // bytes apart. Elements that do not exist are zero.
  void runs(const std::vector<std::int64_t>& channels, std::int64_t first, std::int64_t have, std::int64_t place,
            std::int64_t count, std::int64_t pitch, std::byte* to, std::int64_t toPitch) const {
    if (count <= 0) return;
    if (have <= 0) return zeros(to, count, toPitch);
    const bool whole = have == c0_;
    if (shape_.pitch == 0 || (!whole && have != shape_.tail))
      return elements(channels, first, have, place, count, pitch, to, toPitch);
    const std::byte* from = address(at(channels, first) + place);
    const std::int64_t some = shape_.together;
    if (some > 1 && count >= some && pitch == 1 && toPitch == shape_.toPitch) {
      const LoadKernel kernel = whole ? LoadKernel::kSome : LoadKernel::kSomeTail;
      const std::int64_t calls = count / some, rest = count % some;
      call(kernel, movedBy(from, to, calls, some * e_, some * toPitch));
      // The last ones once more, together with those before them.
      if (rest > 0) call(kernel, movedBy(from + (count - some) * e_, to + (count - some) * toPitch, 1, 0, 0));
      return;
    }
    if (whole && shape_.pitch == 1 && pitch == c0_ && toPitch == kRun) return copy(from, to, count);
    call(whole ? LoadKernel::kOne : LoadKernel::kOneTail, movedBy(from, to, count, pitch * e_, toPitch));
  }

  // `count` times shape().together runs `pitch` apart; in L1 the first of each lie behind each other.
  void turned(std::int64_t place, std::int64_t have, std::int64_t count, std::int64_t pitch, std::byte* to) const {
    call(have == c0_ ? LoadKernel::kSome : LoadKernel::kSomeTail, movedBy(address(place), to, count, pitch * e_, kRun));
  }
  bool turns(std::int64_t have) const { return shape_.together > 1 && (have == c0_ || have == shape_.tail); }

  void zeros(std::byte* to, std::int64_t count, std::int64_t toPitch = kRun) const {
    if (count > 0) code_.call(UnitKernel::kZeroRuns, movedBy(to, to, count, 0, toPitch));
  }
  void element(std::int64_t place, std::byte* to) const {
    code_.call(UnitKernel::kElements, movedBy(address(place), to, 1, 0, 0));
  }

 private:
  const std::byte* address(std::int64_t place) const { return data_ + place * e_; }
  void call(LoadKernel kernel, const KernelArgs& args) const {
    loads_.kernels.call(first_ + static_cast<std::size_t>(kernel), args);
  }
  // Runs that follow each other on both sides.
  void copy(const std::byte* from, std::byte* to, std::int64_t count) const {
    constexpr std::int64_t kRuns = 16;
    const std::int64_t whole = count / kRuns * kRuns;
    if (whole > 0) code_.call(UnitKernel::kFractals, movedBy(from, to, whole / kRuns, kRuns * kRun, kRuns * kRun));
    if (whole < count)
      code_.call(UnitKernel::kRuns, movedBy(from + whole * kRun, to + whole * kRun, count - whole, kRun, kRun));
  }
  // Channels that lie in no order: each by itself.
  void elements(const std::vector<std::int64_t>& channels, std::int64_t first, std::int64_t have, std::int64_t place,
                std::int64_t count, std::int64_t pitch, std::byte* to, std::int64_t toPitch) const {
    if (have < c0_) zeros(to, count, toPitch);
    for (std::int64_t c = 0; c < have; ++c)
      code_.call(UnitKernel::kElements,
                 movedBy(address(at(channels, first + c) + place), to + c * e_, count, pitch * e_, toPitch));
  }

  const UnitCode& code_;
  const LoadCode& loads_;
  const RunShape& shape_;
  std::size_t first_;
  const std::byte* data_;
  std::int64_t c0_, e_;
};

std::int64_t existing(const ActivationTable& t, std::int64_t block, std::int64_t c0) {
  const auto end = static_cast<std::int64_t>(t.channel.size());
  std::int64_t have = 0;
  while (have < c0 && block * c0 + have < end && at(t.channel, block * c0 + have) != kMissing) ++have;
  return have;
}

// One channel block of pixels in a row, of which every `step`th exists, the first at `column`.
void loadRow(const RunLoader& loader, const ActivationTable& t, std::int64_t block, std::int64_t c0, std::int64_t place,
             std::int64_t column, std::int64_t count, std::byte* to, std::int64_t step) {
  const std::int64_t have = existing(t, block, c0), toPitch = step * kRun;
  if (t.columnPitch != 0)
    return loader.runs(t.channel, block * c0, have, place + at(t.column, column), count, t.columnPitch, to, toPitch);
  for (std::int64_t x = 0; x < count; ++x)
    loader.runs(t.channel, block * c0, have, place + at(t.column, column + x), 1, 0, to + x * toPitch, toPitch);
}

}  // namespace

void execute(const UnitCode& code, const LoadCode& loads, const LoadImage& i, const UnitContext& c,
             CoreMemory& memory) {
  const ActivationTable& t = c.tables.image;
  const std::int64_t c0 = c.work.c0, stepH = c.work.spread ? c.work.stride.h : 1,
                     stepW = c.work.spread ? c.work.stride.w : 1;
  const std::int64_t row = roundUp(i.rows.begin, stepH), column = roundUp(i.columns.begin, stepW);
  const std::int64_t columns = ceilDiv(std::max<std::int64_t>(0, i.columns.end() - column), stepW);
  const std::int64_t depth = at(t.depth, i.depth), bytes = bytesOf(i, c), rowBytes = i.columns.count * kRun;
  std::byte* to = memory.at(CoreBuffer::kL1, i.l1);
  const RunLoader loader(code, loads, LoadOperand::kImage, t.data, c0);
  if (stepH > 1 || stepW > 1) loader.zeros(to, bytes / kRun);
  if (bytes == 0 || columns == 0) return;
  // Rows that follow each other in memory are one.
  const bool oneRow = stepH == 1 && stepW == 1 && t.columnPitch != 0 && t.rowPitch == i.columns.count * t.columnPitch;
  for (std::int64_t b = 0; b < i.blocks.count; ++b) {
    std::byte* block = to + b * i.rows.count * rowBytes;
    for (std::int64_t r = row; r < i.rows.end(); r += stepH) {
      std::byte* first = block + (r - i.rows.begin) * rowBytes + (column - i.columns.begin) * kRun;
      const std::int64_t place = depth + at(t.row, r / stepH), here = oneRow ? i.rows.count * columns : columns;
      loadRow(loader, t, i.blocks.begin + b, c0, place, column / stepW, here, first, stepW);
      if (oneRow) break;
    }
  }
}

void execute(const UnitCode& code, const LoadCode& loads, const LoadPixels& i, const UnitContext& c,
             CoreMemory& memory) {
  const ActivationTable& t = c.tables.pixels;
  const std::int64_t c0 = c.work.c0, width = c.work.pixels.w, depth = at(t.depth, i.depth);
  std::byte* to = memory.at(CoreBuffer::kL1, i.l1);
  const RunLoader loader(code, loads, LoadOperand::kPixels, t.data, c0);
  const bool oneRow = t.columnPitch != 0 && t.rowPitch == width * t.columnPitch;
  for (std::int64_t b = 0; b < ceilDiv(i.channels.count, c0); ++b) {
    for (std::int64_t p = i.pixels.begin; p < i.pixels.end();) {
      const std::int64_t column = p % width, rest = i.pixels.end() - p;
      const std::int64_t count = oneRow ? rest : std::min(rest, width - column);
      loadRow(loader, t, i.channels.begin / c0 + b, c0, depth + at(t.row, p / width), column, count, to, 1);
      to += count * kRun;
      p += count;
    }
  }
}

namespace {

// Weights of a block of L1, unit by unit. Runs are always of inner channels; see LoadWeights for the order in L1.
class WeightBlock {
 public:
  WeightBlock(const RunLoader& loader, const LoadWeights& i, const UnitContext& c, std::byte* to)
      : loader_(loader), i_(i), t_(c.tables.weights), w_(c.work), to_(to), n_(roundUp(i.n.count, w_.c0)) {
    const std::vector<std::int64_t>& across = i.plain ? t_.outer : t_.inner;
    results_ = std::min(n_, static_cast<std::int64_t>(across.size()) - i.n.begin);
  }

  void load() {
    if (!t_.oneGroup) loader_.zeros(to_, i_.units.count * n_);
    for (std::int64_t unit = i_.units.begin; unit < i_.units.end();) {
      const bool whole = unit % w_.tapsHw == 0 && unit + w_.tapsHw <= i_.units.end();
      const bool turned = t_.oneGroup && !i_.plain && whole && loader_.turns(w_.c0);
      if (!t_.oneGroup)
        pairs(unit);
      else if (i_.plain)
        plainUnit(unit);
      else
        for (std::int64_t n = 0; n < n_; n += w_.c0) turned ? allTaps(unit, n) : oneTap(unit, n);
      unit += turned ? w_.tapsHw : 1;
    }
  }

 private:
  std::int64_t place(std::int64_t unit) const { return at(t_.depth, i_.tapDepth) + at(t_.tap, unit % w_.tapsHw); }
  std::int64_t firstSummed(std::int64_t unit) const { return unit / w_.tapsHw * w_.c0; }
  std::int64_t summed(std::int64_t unit) const {
    const std::vector<std::int64_t>& along = i_.plain ? t_.inner : t_.outer;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(along.size()) - firstSummed(unit), 0, w_.c0);
  }
  // [n / c0][k][c0]: where a unit's runs of the block at n begin.
  std::byte* runsOf(std::int64_t unit, std::int64_t n) const {
    return to_ + (n / w_.c0 * i_.units.count + unit - i_.units.begin) * w_.c0 * kRun;
  }
  std::int64_t outerPitch() const { return t_.outer.size() > 1 ? t_.outer[1] - t_.outer[0] : 1; }
  bool evenOuter(std::int64_t first, std::int64_t count) const {
    for (std::int64_t k = first + 1; k < first + count; ++k) {
      if (at(t_.outer, k) - at(t_.outer, k - 1) != outerPitch()) return false;
    }
    return true;
  }
  // Runs of the inner channels at `inner`, one for each of `count` outer channels.
  void runs(std::int64_t inner, std::int64_t outer, std::int64_t count, std::int64_t place, std::byte* to) const {
    const std::int64_t have = std::min(w_.c0, static_cast<std::int64_t>(t_.inner.size()) - inner);
    if (evenOuter(outer, count))
      return loader_.runs(t_.inner, inner, have, place + at(t_.outer, outer), count, outerPitch(), to, kRun);
    for (std::int64_t k = 0; k < count; ++k)
      loader_.runs(t_.inner, inner, have, place + at(t_.outer, outer + k), 1, 0, to + k * kRun, kRun);
  }

  void oneTap(std::int64_t unit, std::int64_t n) const {
    const std::int64_t rows = n < results_ ? summed(unit) : 0;
    if (rows > 0) runs(i_.n.begin + n, firstSummed(unit), rows, place(unit), runsOf(unit, n));
    loader_.zeros(runsOf(unit, n) + rows * kRun, w_.c0 - rows);
  }
  void allTaps(std::int64_t unit, std::int64_t n) const {
    const std::int64_t sums = summed(unit), have = std::min(w_.c0, results_ - n), first = firstSummed(unit);
    const bool turned = have > 0 && sums > 0 && loader_.turns(have) && evenOuter(first, sums);
    if (turned)
      loader_.turned(place(unit) + at(t_.outer, first) + at(t_.inner, i_.n.begin + n), have, sums, outerPitch(),
                     runsOf(unit, n));
    for (std::int64_t tap = 0; tap < w_.tapsHw; ++tap) {
      if (turned)
        loader_.zeros(runsOf(unit + tap, n) + sums * kRun, w_.c0 - sums);
      else
        oneTap(unit + tap, n);
    }
  }

  // [k / c0][n][c0]
  void plainUnit(std::int64_t unit) const {
    std::byte* to = to_ + (unit - i_.units.begin) * n_ * kRun;
    const std::int64_t rows = summed(unit) > 0 ? std::max<std::int64_t>(0, results_) : 0;
    if (rows > 0) runs(firstSummed(unit), i_.n.begin, rows, place(unit), to);
    loader_.zeros(to + rows * kRun, n_ - rows);
  }

  // Several groups of the problem in a real one: a run has the inner channels of its outer channel's group only.
  void pairs(std::int64_t unit) const {
    const std::int64_t summed = this->summed(unit);
    if (i_.plain) {
      for (std::int64_t n = 0; n < results_; ++n)
        pairRun(unit, i_.n.begin + n, firstSummed(unit), to_ + ((unit - i_.units.begin) * n_ + n) * kRun);
      return;
    }
    for (std::int64_t k = 0; k < summed; ++k) {
      for (std::int64_t n = 0; n < results_; n += w_.c0)
        pairRun(unit, firstSummed(unit) + k, i_.n.begin + n, runsOf(unit, n) + k * kRun);
    }
  }
  void pairRun(std::int64_t unit, std::int64_t outer, std::int64_t inner, std::byte* run) const {
    const std::int64_t group = outer / t_.outerOfGroup * t_.innerOfGroup;
    const std::int64_t end =
        std::min({inner + w_.c0, group + t_.innerOfGroup, static_cast<std::int64_t>(t_.inner.size())});
    for (std::int64_t i = std::max(inner, group); i < end; ++i)
      loader_.element(place(unit) + at(t_.outer, outer) + at(t_.inner, i), run + (i - inner) * w_.elementBytes);
  }

  const RunLoader& loader_;
  const LoadWeights& i_;
  const WeightTable& t_;
  const CubeWork& w_;
  std::byte* to_;
  std::int64_t n_, results_ = 0;
};

}  // namespace

void execute(const UnitCode& code, const LoadCode& loads, const LoadWeights& i, const UnitContext& c,
             CoreMemory& memory) {
  const RunLoader loader(code, loads, LoadOperand::kWeights, c.tables.weights.data, c.work.c0);
  WeightBlock(loader, i, c, memory.at(CoreBuffer::kL1, i.l1)).load();
}

}  // namespace cubejit
