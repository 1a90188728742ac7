// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides places from index maps, and moves.
#include "emulation/move_out.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "codegen/tile/element.h"
#include "emulation/axis_walk.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSide = 16;

Error refuse(const std::string& rule) { return Error{ErrorCode::kInvalidProblem, Stage::kRun, rule}; }

void placesOfDx(const CubeJob& job, const CoreTask& task, const CubeBlock& b, const BlockTarget& target,
                BlockPlaces& places) {
  const CubeWork& w = job.work;
  const IndexMap& map = target.view.map;
  const std::int64_t base = offsetAlong(map, 0, task.image) + offsetAlong(map, 2, task.depth);
  places.row.reserve(static_cast<std::size_t>(b.m));
  const std::int64_t first = task.start.m - target.originM + b.m0;
  for (std::int64_t r = 0, h = first / w.row(), x = first % w.row(); r < b.m; ++h, x = 0) {
    const std::int64_t row = base + offsetAlong(map, 3, h);
    const std::int64_t here = std::min(w.row() - x, b.m - r);
    eachOffset(map, 4, x, here, [&](std::int64_t offset) { places.row.push_back(row + offset); });
    r += here;
  }
  const ChannelRange range = channelsOf(job, w.spread, target.group);
  const std::int64_t stored = storedChannels(map, range.count);
  places.column.reserve(static_cast<std::size_t>(b.n));
  std::int64_t c = task.start.n + b.n0;
  eachOffset(map, 1, range.first + c - target.originN, b.n,
             [&](std::int64_t offset) { places.column.push_back(c++ < stored ? offset : kMissing); });
}

void placesOfDw(const CubeJob& job, const CoreTask& task, const CubeBlock& b, const BlockTarget& target,
                BlockPlaces& places) {
  const CubeWork& w = job.work;
  const IndexMap& map = target.view.map;
  const std::int64_t base = offsetAlong(map, 2, task.tapDepth);
  const ChannelRange outer = channelsOf(job, false, target.group), inner = channelsOf(job, true, target.group);
  const bool several = w.groups.together > 1;
  places.row.reserve(static_cast<std::size_t>(b.m));
  std::int64_t o = task.start.m + b.m0;
  eachOffset(map, 0, outer.first + o - target.originM, b.m, [&](std::int64_t offset) {
    places.row.push_back(o < outer.count ? base + offset : kMissing);
    if (several) places.rowGroup.push_back(o / outer.ofGroup);
    ++o;
  });
  const std::int64_t blockUnit = w.blockUnit();
  places.column.reserve(static_cast<std::size_t>(b.n));
  for (std::int64_t c = 0; c < b.n;) {  // a unit of c0 channels at one tap after the other
    const std::int64_t n = task.start.n + b.n0 + c, at = n - target.originN, tap = at / w.c0 % w.tapsHw;
    const std::int64_t channel = n / blockUnit * w.c0, placed = at / blockUnit * w.c0;
    const std::int64_t unit = offsetAlong(map, 3, tap / w.kernel.w) + offsetAlong(map, 4, tap % w.kernel.w);
    std::int64_t j = n % w.c0;
    const std::int64_t here = std::min(w.c0 - j, b.n - c);
    eachOffset(map, 1, inner.first + placed + j, here, [&](std::int64_t offset) {
      const bool exists = n < w.gemm.n && channel + j < inner.count;
      places.column.push_back(exists ? unit + offset : kMissing);
      if (several) places.columnGroup.push_back((channel + j) / inner.ofGroup);
      ++j;
    });
    c += here;
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
  places.findEvenRows();
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

// What a strip means, element by element.
std::int64_t moveEach(const OutStrip& s, const BlockTarget& target, const BlockPlaces& places) {
  const std::int64_t e = byteSize(target.view.type);
  std::int64_t written = 0;
  for (std::int64_t m = 0; m < s.rows; ++m) {
    for (std::int64_t c = 0; c < s.columns; ++c) {
      const auto row = static_cast<std::size_t>(s.firstRow + m), column = static_cast<std::size_t>(s.column + c);
      if (!places.exists(row, column)) continue;
      std::byte* to = target.view.data + (places.row[row] + places.column[column]) * e;
      const float sum = s.sums[m * s.pitch + c];
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

}  // namespace

std::int64_t moveOut(const CubeJob& job, const CubeBlock& block, std::int64_t l0c, const BlockTarget& target,
                     const BlockPlaces& places, CoreMemory& memory, const UnitCode* code) {
  const std::int64_t rows = roundUp(block.m, kSide);
  std::int64_t written = 0;
  for (std::int64_t n = 0; n < block.n; n += kSide) {
    OutStrip strip{memory.l0c(l0c) + n * rows, kSide, 0, block.m, n, std::min(kSide, block.n - n),
                   target.add && !target.fresh};
    if (n == 0) askFor(strip.column, strip.columns, target, places);
    askFor(n + kSide, std::min(kSide, block.n - n - kSide), target, places);
    if (!job.machine.npu.fixpipe) {  // L0C -> UB
      auto* ub = reinterpret_cast<float*>(memory.at(CoreBuffer::kUb));
      constexpr std::int64_t kFractal = 512;
      if (code != nullptr)
        code->call(UnitKernel::kFractals, movedBy(strip.sums, ub, rows * kSide * 4 / kFractal, kFractal, kFractal));
      else
        std::memcpy(ub, strip.sums, static_cast<std::size_t>(rows * kSide * 4));
      strip.sums = ub;
    }
    written += code == nullptr || (strip.add && !target.alone)
                   ? moveEach(strip, target, places)
                   : moveStrip(*code, strip, {target.view.data, target.view.type}, places);
  }
  return written;
}

std::int64_t zeroOut(const CubeBlock& block, const BlockTarget& target, const BlockPlaces& places, CoreMemory& memory,
                     const UnitCode* code) {
  // A strip of zeros in UB, as many rows as it holds.
  const std::int64_t most = std::min(block.m, memory.bytes(CoreBuffer::kUb) / (kSide * 4));
  auto* zeros = reinterpret_cast<float*>(memory.at(CoreBuffer::kUb));
  if (code != nullptr)
    zeroMemory(*code, {memory.at(CoreBuffer::kUb), DType::kF32}, most * kSide * 4);
  else
    std::fill(zeros, zeros + most * kSide, 0.0F);
  std::int64_t written = 0;
  for (std::int64_t m = 0; m < block.m; m += most) {
    for (std::int64_t n = 0; n < block.n; n += kSide) {
      const OutStrip strip{zeros, kSide, m, std::min(most, block.m - m), n, std::min(kSide, block.n - n), false};
      written += code == nullptr ? moveEach(strip, target, places)
                                 : moveStrip(*code, strip, {target.view.data, target.view.type}, places);
    }
  }
  return written;
}

}  // namespace cubejit
