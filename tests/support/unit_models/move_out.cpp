// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides places from index maps, and moves element by element.
#include "tests/support/unit_models/move_out.h"

#include <algorithm>
#include <string>
#include <vector>

#include "codegen/tile/element.h"
#include "tests/support/unit_models/operand_tables.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

// Where the elements of a block go: element offset = row[m] + column[n], unless either is kMissing or the pair is no pair.
struct BlockPlaces {
  std::vector<std::int64_t> row, column;
  // dW with several groups of the problem in a real group: o and i of one group only.
  std::vector<std::int64_t> rowGroup, columnGroup;
  bool exists(std::size_t m, std::size_t n) const {
    return row[m] != kMissing && column[n] != kMissing && (rowGroup.empty() || rowGroup[m] == columnGroup[n]);
  }
};

BlockPlaces placesOfDx(const CubeJob& job, const CoreTask& task, const CubeBlock& b, const IndexMap& map) {
  const CubeWork& w = job.work;
  BlockPlaces places;
  const std::int64_t base = map.along(0, task.image) + map.along(2, task.depth), first = task.start.m + b.m0;
  for (std::int64_t m = first; m < first + b.m; ++m)
    places.row.push_back(base + map.along(3, m / w.row()) + map.along(4, m % w.row()));
  const ChannelRange range = channelsOf(job, w.spread, task.group);
  const std::int64_t stored = storedChannels(map, range);
  for (std::int64_t n = 0; n < b.n; ++n) {
    const std::int64_t channel = task.start.n + b.n0 + n;
    places.column.push_back(channel < stored ? map.along(1, range.first + channel) : kMissing);
  }
  return places;
}

BlockPlaces placesOfDw(const CubeJob& job, const CoreTask& task, const CubeBlock& b, const IndexMap& map) {
  const CubeWork& w = job.work;
  BlockPlaces places;
  const std::int64_t base = map.along(2, task.tapDepth);
  const ChannelRange outer = channelsOf(job, false, task.group), inner = channelsOf(job, true, task.group);
  const bool several = w.groups.together > 1;
  for (std::int64_t m = 0; m < b.m; ++m) {
    const std::int64_t o = task.start.m + b.m0 + m;
    places.row.push_back(o < outer.count ? base + map.along(0, outer.first + o) : kMissing);
    if (several) places.rowGroup.push_back(o / outer.ofGroup);
  }
  for (std::int64_t c = 0; c < b.n; ++c) {  // a unit of c0 channels at one tap after the other
    const std::int64_t n = task.start.n + b.n0 + c, tap = n / w.c0 % w.tapsHw;
    const std::int64_t i = n / w.blockUnit() * w.c0 + n % w.c0;
    const bool exists = n < w.gemm.n && i < inner.count;
    places.column.push_back(exists ? map.along(1, inner.first + i) + map.along(3, tap / w.kernel.w) +
                                         map.along(4, tap % w.kernel.w)
                                   : kMissing);
    if (several) places.columnGroup.push_back(i / inner.ofGroup);
  }
  return places;
}

}  // namespace

void storeElement(DType type, std::byte* to, float value) {
  writeElement(storedElement(type), reinterpret_cast<char*>(to), bitsOf(value));
}

Status moveOut(const CubeJob& job, const CoreTask& task, const CubeBlock& block, const BlockTarget& target,
               const std::function<float(std::int64_t, std::int64_t)>& sum) {
  const GlobalView& view = target.view;
  const bool dx = job.work.pass == Pass::kDx;
  const char* name = dx ? "dx" : "dw";
  const std::int64_t e = byteSize(view.type);
  if (view.data == nullptr)
    return invalidInput(std::string(name) + " is null; give it before a block is written", Stage::kRun);
  if (target.add && e != 4)
    return invalidInput(std::string(name) + " is " + toString(view.type) + "; blocks are added to f32 only",
                        Stage::kRun);
  const BlockPlaces places = (dx ? placesOfDx : placesOfDw)(job, task, block, view.map);
  const std::int64_t row = *std::max_element(places.row.begin(), places.row.end()),
                     column = *std::max_element(places.column.begin(), places.column.end());
  const std::int64_t needed = row == kMissing || column == kMissing ? 0 : (row + column + 1) * e;
  if (view.bytes >= 0 && needed > view.bytes)
    return invalidInput(std::string(name) + " needs " + std::to_string(needed) + " bytes for this block, but has " +
                            std::to_string(view.bytes) + "; the block is outside the tensor",
                        Stage::kRun);
  for (std::int64_t m = 0; m < block.m; ++m) {
    for (std::int64_t n = 0; n < block.n; ++n) {
      const auto r = static_cast<std::size_t>(m), c = static_cast<std::size_t>(n);
      if (!places.exists(r, c)) continue;
      std::byte* to = view.data + (places.row[r] + places.column[c]) * e;
      if (target.add && !target.fresh)
        *reinterpret_cast<float*>(to) += sum(m, n);
      else
        storeElement(view.type, to, sum(m, n));
    }
  }
  return Unit{};
}

}  // namespace cubejit
