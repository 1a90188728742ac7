// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides places from index maps, and moves.
#include "emulation/move_out.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "codegen/tile/element.h"
#include "tiling/npu/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSide = 16;

Error refuse(const std::string& rule) { return Error{ErrorCode::kInvalidProblem, Stage::kRun, rule}; }

// Channels that memory has beyond the tensor's, in the last block.
std::int64_t storedChannels(const IndexMap& map, std::size_t axis, std::int64_t existing) {
  for (const Digit& d : map.digits[axis]) {
    if (d.unit == 1 && d.extent > 1 && d.stride == 1 && map.padded) return roundUp(existing, d.extent);
  }
  return existing;
}

void placesOfDx(const CubeJob& job, const CoreTask& task, const CubeBlock& b, const BlockTarget& target,
                BlockPlaces& places) {
  const CubeWork& w = job.work;
  const IndexMap& map = target.view.map;
  const std::int64_t base = offsetAlong(map, 0, task.image) + offsetAlong(map, 2, task.depth);
  places.row.reserve(static_cast<std::size_t>(b.m));
  const std::int64_t first = task.start.m - target.originM + b.m0;
  for (std::int64_t r = 0, h = first / w.row(), x = first % w.row(); r < b.m; ++h, x = 0) {
    const std::int64_t row = base + offsetAlong(map, 3, h);
    for (; x < w.row() && r < b.m; ++x, ++r) places.row.push_back(row + offsetAlong(map, 4, x));
  }
  const ChannelRange range = channelsOf(job, w.spread, target.group);
  const std::int64_t stored = storedChannels(map, 1, range.count);
  for (std::int64_t c = 0; c < b.n; ++c) {
    const std::int64_t channel = task.start.n + b.n0 + c;
    places.column.push_back(channel < stored ? offsetAlong(map, 1, range.first + channel - target.originN) : kMissing);
  }
}

void placesOfDw(const CubeJob& job, const CoreTask& task, const CubeBlock& b, const BlockTarget& target,
                BlockPlaces& places) {
  const CubeWork& w = job.work;
  const IndexMap& map = target.view.map;
  const std::int64_t base = offsetAlong(map, 2, task.tapDepth);
  const ChannelRange outer = channelsOf(job, false, target.group), inner = channelsOf(job, true, target.group);
  const bool several = w.groups.together > 1;
  places.row.reserve(static_cast<std::size_t>(b.m));
  for (std::int64_t r = 0; r < b.m; ++r) {
    const std::int64_t o = task.start.m + b.m0 + r;
    places.row.push_back(o < outer.count ? base + offsetAlong(map, 0, outer.first + o - target.originM) : kMissing);
    if (several) places.rowGroup.push_back(o / outer.ofGroup);
  }
  const std::int64_t blockUnit = w.blockUnit();
  places.column.reserve(static_cast<std::size_t>(b.n));
  for (std::int64_t c = 0; c < b.n;) {  // a unit of c0 channels at one tap after the other
    const std::int64_t n = task.start.n + b.n0 + c, at = n - target.originN, tap = at / w.c0 % w.tapsHw;
    const std::int64_t channel = n / blockUnit * w.c0, placed = at / blockUnit * w.c0;
    const std::int64_t unit = offsetAlong(map, 3, tap / w.kernel.w) + offsetAlong(map, 4, tap % w.kernel.w);
    for (std::int64_t j = n % w.c0; j < w.c0 && c < b.n; ++j, ++c) {
      const bool exists = n < w.gemm.n && channel + j < inner.count;
      places.column.push_back(exists ? unit + offsetAlong(map, 1, inner.first + placed + j) : kMissing);
      if (several) places.columnGroup.push_back((channel + j) / inner.ofGroup);
    }
  }
}

}  // namespace

Result<BlockPlaces> placesOf(const CubeJob& job, const CoreTask& task, const CubeBlock& block,
                             const BlockTarget& target) {
  const GlobalView& view = target.view;
  const bool dx = job.work.gradient == Gradient::kDx;
  const char* name = dx ? "dx" : "dw";
  if (view.data == nullptr) return refuse(std::string(name) + " is null; give it before a block is written");
  if (target.add && byteSize(view.type) != 4)
    return refuse(std::string(name) + " is " + toString(view.type) + "; blocks are added to f32 only");
  BlockPlaces places;
  (dx ? placesOfDx : placesOfDw)(job, task, block, target, places);
  const auto last = [](const std::vector<std::int64_t>& offsets) {
    return offsets.empty() ? kMissing : *std::max_element(offsets.begin(), offsets.end());
  };
  const std::int64_t row = last(places.row), column = last(places.column);
  const std::int64_t needed = row == kMissing || column == kMissing ? 0 : (row + column + 1) * byteSize(view.type);
  if (view.bytes >= 0 && needed > view.bytes)
    return refuse(std::string(name) + " needs " + std::to_string(needed) + " bytes for this block, but has " +
                  std::to_string(view.bytes) + "; the block is outside the tensor");
  return places;
}

void storeElement(DType type, std::byte* to, float value) {
  writeElement(isHf32(type) ? Element::kF32 : elementOf(type), reinterpret_cast<char*>(to), bitsOf(value));
}

void addAtomically(std::byte* to, float value) {
  std::atomic_ref<std::uint32_t> word(*reinterpret_cast<std::uint32_t*>(to));
  std::uint32_t before = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(before, bitsOf(floatOf(before) + value), std::memory_order_relaxed)) {
  }
}

namespace {

// Whether entries begin .. end exist and lie `step` apart.
bool evenly(const std::vector<std::int64_t>& offsets, std::int64_t begin, std::int64_t end, std::int64_t step) {
  for (std::int64_t i = begin; i < end; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (offsets[at] == kMissing || (i > begin && offsets[at] - offsets[at - 1] != step)) return false;
  }
  return true;
}

// One strip of up to 16 columns on its way to memory.
struct Strip {
  const float* sums;  ///< [m][16]
  std::int64_t m, column, columns;
  bool add;
};

// Rows from m on that are equally far apart in memory: how many, and how far.
std::pair<std::int64_t, std::int64_t> evenRows(const BlockPlaces& places, std::int64_t m, std::int64_t end) {
  const auto row = [&](std::int64_t i) { return places.row[static_cast<std::size_t>(i)]; };
  if (m + 1 >= end || row(m + 1) == kMissing) return {1, 0};
  const std::int64_t step = row(m + 1) - row(m);
  std::int64_t next = m + 2;
  while (next < end && row(next) != kMissing && row(next) - row(next - 1) == step) ++next;
  return {next - m, step};
}

// The kernel of a family that makes elements of the target's type.
UnitKernel kernelFor(UnitKernel family, DType type) {
  const int kind = byteSize(type) == 4 ? 0 : type == DType::kF16 ? 1 : 2;
  return static_cast<UnitKernel>(static_cast<int>(family) + kind);
}

std::byte* placeOf(const BlockTarget& target, const BlockPlaces& places, std::int64_t row, std::int64_t column) {
  return target.view.data +
         (places.row[static_cast<std::size_t>(row)] + places.column[static_cast<std::size_t>(column)]) *
             byteSize(target.view.type);
}

// Adds by a kernel, if the columns of each block of c0 are neighbours in memory and nobody else adds.
bool addTogether(const UnitCode& code, const Strip& s, const BlockTarget& target, const BlockPlaces& places) {
  const std::int64_t c0 = 32 / byteSize(code.operand);
  if (!s.add || !target.alone || !places.rowGroup.empty() || s.columns % c0 != 0) return false;
  for (std::int64_t c = s.column; c < s.column + s.columns; c += c0) {
    if (!evenly(places.column, c, c + c0, 1)) return false;
  }
  for (std::int64_t c = 0; c < s.columns; c += c0) {
    for (std::int64_t m = 0; m < s.m;) {
      if (places.row[static_cast<std::size_t>(m)] == kMissing) {
        ++m;
        continue;
      }
      const auto [rows, step] = evenRows(places, m, s.m);
      code.call(UnitKernel::kAdd,
                movedBy(s.sums + m * kSide + c, placeOf(target, places, m, s.column + c), rows, kSide * 4, step * 4));
      m += rows;
    }
  }
  return true;
}

// Whether every row of the strip is stored, by nobody else's rule.
bool replacesAll(const Strip& s, const BlockPlaces& places) {
  return !s.add && places.rowGroup.empty() &&
         std::find(places.row.begin(), places.row.begin() + s.m, kMissing) == places.row.begin() + s.m;
}

// By kernels, if the strip's columns are neighbours in memory: channels inside.
bool moveRows(const UnitCode& code, const Strip& s, const BlockTarget& target, const BlockPlaces& places) {
  if (!replacesAll(s, places) || (s.columns != kSide && s.columns != kSide / 2)) return false;
  if (!evenly(places.column, s.column, s.column + s.columns, 1)) return false;
  const UnitKernel kernel =
      kernelFor(s.columns == kSide ? UnitKernel::kOutF32 : UnitKernel::kOutRunF32, target.view.type);
  for (std::int64_t m = 0; m < s.m;) {
    const auto [rows, step] = evenRows(places, m, s.m);
    code.call(kernel, movedBy(s.sums + m * kSide, placeOf(target, places, m, s.column), rows, kSide * 4,
                              step * byteSize(target.view.type)));
    m += rows;
  }
  return true;
}

// By kernels, if columns are equally far apart: pixels inside.
bool moveTurned(const UnitCode& code, const Strip& s, const BlockTarget& target, const BlockPlaces& places) {
  if (!replacesAll(s, places) || s.columns != kSide) return false;
  const std::int64_t e = byteSize(target.view.type);
  if (!evenly(
          places.column, s.column, s.column + kSide,
          places.column[static_cast<std::size_t>(s.column) + 1] - places.column[static_cast<std::size_t>(s.column)]))
    return false;
  alignas(64) std::byte turned[kSide * kSide * 4];
  for (std::int64_t m = 0; m < s.m; m += kSide) {
    const std::int64_t rows = std::min(kSide, s.m - m);
    code.call(kernelFor(UnitKernel::kTurnF32, target.view.type), movedBy(s.sums + m * kSide, turned, 1, 0, 0));
    const bool together = evenly(places.row, m, m + rows, 1);
    for (std::int64_t c = 0; c < kSide; ++c) {
      const std::byte* from = turned + c * kSide * e;
      if (together) {
        std::memcpy(placeOf(target, places, m, s.column + c), from, static_cast<std::size_t>(rows * e));
      } else {
        for (std::int64_t r = 0; r < rows; ++r)
          std::memcpy(placeOf(target, places, m + r, s.column + c), from + r * e, static_cast<std::size_t>(e));
      }
    }
  }
  return true;
}

std::int64_t moveEach(const Strip& s, const BlockTarget& target, const BlockPlaces& places) {
  const std::int64_t e = byteSize(target.view.type);
  std::int64_t written = 0;
  for (std::int64_t m = 0; m < s.m; ++m) {
    for (std::int64_t c = 0; c < s.columns; ++c) {
      const auto row = static_cast<std::size_t>(m), column = static_cast<std::size_t>(s.column + c);
      if (!places.exists(row, column)) continue;
      std::byte* to = target.view.data + (places.row[row] + places.column[column]) * e;
      const float sum = s.sums[m * kSide + c];
      if (s.add && target.alone)
        *reinterpret_cast<float*>(to) += sum;
      else if (s.add)
        addAtomically(to, sum);
      else
        storeElement(target.view.type, to, sum);
      ++written;
    }
  }
  return written;
}

// Asks for the lines that columns go to: stores to memory that is not in a cache would wait one after the other.
void askFor(std::int64_t column, std::int64_t columns, const BlockTarget& target, const BlockPlaces& places) {
  constexpr std::int64_t kLine = 64;
  const std::int64_t e = byteSize(target.view.type);
  for (std::int64_t c = column, before = 0; c < column + columns; ++c) {
    const std::int64_t place = places.column[static_cast<std::size_t>(c)];
    if (place == kMissing || (c > column && (place - before) * e < kLine / 2 && place >= before)) continue;
    before = place;
    std::int64_t asked = -kLine;
    for (const std::int64_t row : places.row) {
      if (row == kMissing || (row - asked) * e < kLine) continue;
      asked = row;
      __builtin_prefetch(target.view.data + (row + place) * e, 1);
    }
  }
}

std::int64_t moveStrip(const Strip& s, const BlockTarget& target, const BlockPlaces& places, const UnitCode* code) {
  if (code == nullptr) return moveEach(s, target, places);
  if (moveRows(*code, s, target, places) || moveTurned(*code, s, target, places) ||
      addTogether(*code, s, target, places))
    return s.m * s.columns;
  if (s.columns <= kSide / 2) return moveEach(s, target, places);
  // Blocks of 8 channels, or channels that end within the strip.
  constexpr std::int64_t kHalf = kSide / 2;
  return moveStrip({s.sums, s.m, s.column, kHalf, s.add}, target, places, code) +
         moveStrip({s.sums + kHalf, s.m, s.column + kHalf, s.columns - kHalf, s.add}, target, places, code);
}

}  // namespace

std::int64_t moveOut(const CubeJob& job, const CubeBlock& block, std::int64_t l0c, const BlockTarget& target,
                     const BlockPlaces& places, CoreMemory& memory, const UnitCode* code) {
  const std::int64_t rows = roundUp(block.m, kSide);
  std::int64_t written = 0;
  for (std::int64_t n = 0; n < block.n; n += kSide) {
    Strip strip{memory.l0c(l0c) + n * rows, block.m, n, std::min(kSide, block.n - n), target.add && !target.fresh};
    if (n == 0) askFor(strip.column, strip.columns, target, places);
    askFor(n + kSide, std::min(kSide, block.n - n - kSide), target, places);
    if (!job.machine.npu.fixpipe) {  // L0C -> UB
      auto* ub = reinterpret_cast<float*>(memory.at(CoreBuffer::kUb));
      std::memcpy(ub, strip.sums, static_cast<std::size_t>(rows * kSide * 4));
      strip.sums = ub;
    }
    written += moveStrip(strip, target, places, code);
  }
  return written;
}

std::int64_t zeroOut(const CubeBlock& block, const BlockTarget& target, const BlockPlaces& places) {
  std::int64_t written = 0;
  for (std::size_t m = 0; m < static_cast<std::size_t>(block.m); ++m) {
    for (std::size_t n = 0; n < static_cast<std::size_t>(block.n); ++n) {
      if (!places.exists(m, n)) continue;
      storeElement(target.view.type, target.view.data + (places.row[m] + places.column[n]) * byteSize(target.view.type),
                   0);
      ++written;
    }
  }
  return written;
}

}  // namespace cubejit
