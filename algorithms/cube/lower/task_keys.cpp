// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a task's instructions depend on: extents, how the image is clipped, how channels lie.
#include "algorithms/cube/lower/task_keys.h"

#include <algorithm>

#include "algorithms/cube/block_stream.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

// Offsets of coordinates along an axis, from the first one's.
void addOffsets(const IndexMap& map, std::size_t axis, std::int64_t first, std::int64_t count, TaskKey& key) {
  key.push_back(count);
  for (std::int64_t i = 1; i < count; ++i) key.push_back(map.along(axis, first + i) - map.along(axis, first));
}

}  // namespace

TaskPlaces TaskKeys::places(const CoreTask& t) const {
  const CubeWork& w = job_->work;
  const bool dx = w.pass == Pass::kDx;
  const std::int64_t pixel = dx ? t.start.m : t.start.k, h = pixel / w.row();
  const ChannelRange image = channelsOf(*job_, !w.spread, t.group), small = channelsOf(*job_, false, t.group),
                     big = channelsOf(*job_, true, t.group);
  const std::int64_t summedBlock = t.start.k / w.kernel.d / w.blockUnit() * w.c0;
  TaskPlaces p;
  // The image: rows that tasks of a class begin at are a whole number of strides apart.
  const std::int64_t imageRow = w.spread ? (h + w.pad.h) / w.stride.h : h * w.stride.h;
  const std::vector<MeetingDepth> meets = meetingDepths(*job_, t);
  const std::int64_t imageDepth =
      dx ? (meets.empty() ? 0 : meets.front().image) : t.depth * w.stride.d + t.tapDepth * w.dilation.d;
  p.image = t_->imageMap.along(0, t.image) +
            t_->imageMap.along(1, image.first + (dx ? summedBlock : t.start.n / w.blockUnit() * w.c0)) +
            imageDepth * strideOf(t_->imageMap, 2) + imageRow * strideOf(t_->imageMap, 3);
  if (dx) {
    const std::int64_t outer = small.first + (w.spread ? summedBlock : t.start.n),
                       inner = big.first + (w.spread ? t.start.n : summedBlock);
    p.other = t_->otherMap.along(0, outer) + t_->otherMap.along(1, inner) +
              (meets.empty() ? 0 : meets.front().tap) * strideOf(t_->otherMap, 2);
    const ChannelRange result = channelsOf(*job_, w.spread, t.group);
    p.result = t_->resultMap.along(0, t.image) + t_->resultMap.along(1, result.first + t.start.n) +
               t.depth * strideOf(t_->resultMap, 2) + h * strideOf(t_->resultMap, 3);
    p.result *= byteSize(formatOf(job_->problem, TensorId::kDx).dtype);
  } else {
    p.other = t_->otherMap.along(0, t.image) + t_->otherMap.along(1, small.first + t.start.m) +
              t.depth * strideOf(t_->otherMap, 2) + h * strideOf(t_->otherMap, 3);
    p.result = t.tapDepth * sums_->tapDepth() + t.group * sums_->group() +
               t.start.n / w.c0 / sums_->unitsOfShare() * sums_->shareOfN() + t.start.m * sums_->row();
  }
  p.image *= w.elementBytes;
  p.other *= w.elementBytes;
  return p;
}

TaskKey TaskKeys::channels(const CoreTask& t, bool summed) const {
  const CubeWork& w = job_->work;
  const bool dx = w.pass == Pass::kDx;
  const Mkn count = cutTask(*job_, t).count;
  const ChannelRange small = channelsOf(*job_, false, t.group), big = channelsOf(*job_, true, t.group);
  const std::int64_t firstSummed = t.start.k / w.kernel.d / w.blockUnit() * w.c0,
                     summedChannels = dx ? count.k / w.tapsHw : 0;
  const auto clipped = [](const ChannelRange& r, std::int64_t first, std::int64_t wanted) {
    return std::clamp<std::int64_t>(r.count - first, 0, wanted);
  };
  TaskKey key{count.m, count.k, count.n};
  if (!dx) {
    const std::int64_t c = t.start.n / w.blockUnit() * w.c0, all = ceilDiv(count.n, w.blockUnit()) * w.c0;
    addOffsets(t_->imageMap, 1, big.first + c, clipped(big, c, all), key);
    addOffsets(t_->otherMap, 1, small.first + t.start.m, clipped(small, t.start.m, roundUp(count.m, w.c0)), key);
    key.push_back(sums_->rowsFrom(t.start.m));
    return key;
  }
  const ChannelRange& reduced = w.spread ? small : big;  // of dy
  const ChannelRange& result = w.spread ? big : small;
  addOffsets(t_->imageMap, 1, reduced.first + firstSummed, clipped(reduced, firstSummed, summedChannels), key);
  // Which pairs of channels are of one group depends on where both begin.
  if (w.groups.together > 1) key.insert(key.end(), {t.start.k, t.start.n});
  if (summed) {
    addOffsets(t_->otherMap, w.spread ? 0 : 1, reduced.first + firstSummed,
               clipped(reduced, firstSummed, summedChannels), key);
    return key;
  }
  const std::int64_t n = roundUp(count.n, w.c0);
  addOffsets(t_->otherMap, w.spread ? 0 : 1, reduced.first, reduced.count, key);
  addOffsets(t_->otherMap, w.spread ? 1 : 0, result.first + t.start.n, clipped(result, t.start.n, n), key);
  addOffsets(t_->resultMap, 1, result.first + t.start.n, n, key);
  key.push_back(std::min(result.count - t.start.n, n));
  return key;
}

TaskKey TaskKeys::pixels(const CoreTask& t) const {
  const CubeWork& w = job_->work;
  const bool dx = w.pass == Pass::kDx;
  const TaskExtent cut = cutTask(*job_, t);
  const std::int64_t start = dx ? cut.start.m : cut.start.k, count = dx ? cut.count.m : cut.count.k;
  TaskKey key{start % w.row(), count};
  if (count == 0) return key;
  const std::int64_t h0 = start / w.row(), h1 = (start + count - 1) / w.row();
  const std::int64_t reach = (w.kernel.h - 1) * w.dilation.h,
                     height = w.spread ? (w.image.h - 1) * w.stride.h + 1 : w.image.h;
  const std::int64_t begin = w.spread ? h0 + w.pad.h - reach : h0 * w.stride.h - w.pad.h;
  const std::int64_t end = w.spread ? h1 + w.pad.h + 1 : h1 * w.stride.h + reach - w.pad.h + 1;
  key.push_back(w.spread ? (h0 + w.pad.h) % w.stride.h : 0);
  // Where it is clipped counts.
  key.push_back(begin < 0 || end > height ? h0 : -1);
  return key;
}

TaskKey TaskKeys::depths(const CoreTask& task) const {
  const std::vector<MeetingDepth> meets = meetingDepths(*job_, task);
  TaskKey key{static_cast<std::int64_t>(meets.size())};
  for (const MeetingDepth& m : meets) key.insert(key.end(), {m.tap - meets.front().tap, m.image - meets.front().image});
  return key;
}

}  // namespace cubejit
