// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides classes by what a task's instructions depend on: extents, how the image is clipped, how channels lie.
#include "algorithms/cube/lower/task_axes.h"

#include <algorithm>
#include <map>

#include "tiling/npu/block_stream.h"
#include "tiling/npu/cube_rules.h"
#include "tiling/npu/gradient_tasks.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

using Key = std::vector<std::int64_t>;

// Offsets of coordinates along an axis, from the first one's.
void addOffsets(const IndexMap& map, std::size_t axis, std::int64_t first, std::int64_t count, Key& key) {
  key.push_back(count);
  for (std::int64_t i = 1; i < count; ++i) key.push_back(map.along(axis, first + i) - map.along(axis, first));
}

}  // namespace

CoreTask together(const CoreTask& a, const CoreTask& b) {
  CoreTask t = a;
  t.image += b.image;
  t.group += b.group;
  t.depth += b.depth;
  t.tapDepth += b.tapDepth;
  t.start = {a.start.m + b.start.m, a.start.k + b.start.k, a.start.n + b.start.n};
  return t;
}

template <class KeyOf, class Meets>
void TaskAxes::add(std::string name, bool summed, const std::vector<CoreTask>& tasks, const KeyOf& keyOf,
                   const Meets& meets) {
  TaskAxis axis;
  axis.name = std::move(name);
  axis.summed = summed;
  std::map<Key, int> alike;
  std::vector<TaskPlaces> origins;  // of each of those
  std::map<std::pair<int, Key>, int> classes;
  for (const CoreTask& task : tasks) {
    const int key = alike.emplace(keyOf(task), static_cast<int>(alike.size())).first->second;
    const TaskPlaces here = placesOf(task);
    if (static_cast<std::size_t>(key) == origins.size()) origins.push_back(here);
    const TaskPlaces& origin = origins[static_cast<std::size_t>(key)];
    const auto [cls, fresh] = classes.emplace(std::pair{key, meets(task)}, static_cast<int>(classes.size()));
    if (fresh) {
      axis.firsts.push_back(axis.steps.size());
      axis.alike.push_back(key);
    }
    axis.steps.push_back(
        {task, cls->second, {here.image - origin.image, here.other - origin.other, here.result - origin.result}});
  }
  axes_.push_back(std::move(axis));
}

CoreTask TaskAxes::taskOf(const std::vector<std::size_t>& steps) const {
  CoreTask task;
  for (std::size_t i = 0; i < axes_.size(); ++i) task = together(task, axes_[i].steps[steps[i]].task);
  task.extent = job_->plan.cube().singleShape;
  return task;
}

TaskPlaces TaskAxes::placesOf(const CoreTask& t) const {
  const CubeWork& w = job_->work;
  const bool dx = w.gradient == Gradient::kDx;
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

Result<TaskAxes> TaskAxes::create(const CubeJob& job, const CubeTensors& tensors, const CubeSums& sums) {
  TaskAxes out(job, tensors, sums);
  const CubeWork& w = job.work;
  const bool dx = w.gradient == Gradient::kDx;
  const Mkn& s = job.plan.cube().singleShape;
  const CoreSplit split = splitOf(w, s);

  const auto plain = [](const CoreTask&) { return Key{}; };
  // Channels of both sides, with their real group.
  std::vector<CoreTask> channels;
  for (std::int64_t g = 0; g < split.groups; ++g) {
    for (std::int64_t n = 0; n < split.channelsN; ++n) {
      for (std::int64_t m = 0; m < (dx ? 1 : split.channelsM); ++m) {
        CoreTask t;
        t.group = g;
        t.start.n = n * s.n;
        if (!dx) t.start.m = m * s.m;
        channels.push_back(t);
      }
    }
  }
  const auto channelKey = [&](const CoreTask& task, bool summed) {
    CoreTask t = task;
    t.extent = s;
    const Mkn count = cutTask(job, t).count;
    const ChannelRange small = channelsOf(job, false, t.group), big = channelsOf(job, true, t.group);
    const std::int64_t firstSummed = t.start.k / w.kernel.d / w.blockUnit() * w.c0,
                       summedChannels = dx ? count.k / w.tapsHw : 0;
    const auto clipped = [](const ChannelRange& r, std::int64_t first, std::int64_t wanted) {
      return std::clamp<std::int64_t>(r.count - first, 0, wanted);
    };
    Key key{count.m, count.k, count.n};
    if (!dx) {
      const std::int64_t c = t.start.n / w.blockUnit() * w.c0, all = ceilDiv(count.n, w.blockUnit()) * w.c0;
      addOffsets(tensors.imageMap, 1, big.first + c, clipped(big, c, all), key);
      addOffsets(tensors.otherMap, 1, small.first + t.start.m, clipped(small, t.start.m, roundUp(count.m, w.c0)), key);
      key.push_back(sums.rowsFrom(t.start.m));
      return key;
    }
    const ChannelRange& reduced = w.spread ? small : big;  // of dy
    const ChannelRange& result = w.spread ? big : small;
    addOffsets(tensors.imageMap, 1, reduced.first + firstSummed, clipped(reduced, firstSummed, summedChannels), key);
    // Which pairs of channels are of one group depends on where both begin.
    if (w.groups.together > 1) key.insert(key.end(), {t.start.k, t.start.n});
    if (summed) {
      addOffsets(tensors.otherMap, w.spread ? 0 : 1, reduced.first + firstSummed,
                 clipped(reduced, firstSummed, summedChannels), key);
      return key;
    }
    const std::int64_t n = roundUp(count.n, w.c0);
    addOffsets(tensors.otherMap, w.spread ? 0 : 1, reduced.first, reduced.count, key);
    addOffsets(tensors.otherMap, w.spread ? 1 : 0, result.first + t.start.n, clipped(result, t.start.n, n), key);
    addOffsets(tensors.resultMap, 1, result.first + t.start.n, n, key);
    key.push_back(std::min(result.count - t.start.n, n));
    return key;
  };
  out.add("channels", false, channels, [&](const CoreTask& t) { return channelKey(t, false); }, plain);

  const auto pixelKey = [&](const CoreTask& task) {
    CoreTask t = task;
    t.extent = s;
    const TaskExtent cut = cutTask(job, t);
    const std::int64_t start = dx ? cut.start.m : cut.start.k, count = dx ? cut.count.m : cut.count.k;
    Key key{start % w.row(), count};
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
  };
  const auto pixels = [&](std::int64_t count) {
    std::vector<CoreTask> tasks;
    for (std::int64_t r = 0; r < count; ++r) {
      CoreTask t;
      (dx ? t.start.m : t.start.k) = pixelStart(w, dx ? s.m : s.k, r);
      tasks.push_back(t);
    }
    return tasks;
  };
  const auto counted = [](std::int64_t count, std::int64_t CoreTask::* field) {
    std::vector<CoreTask> tasks(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) tasks[static_cast<std::size_t>(i)].*field = i;
    return tasks;
  };
  if (dx) {
    out.add("rows", false, pixels(split.rows), pixelKey, plain);
    out.add("image", false, counted(split.batch, &CoreTask::image), plain, plain);
    out.add(
        "depth", false, counted(split.depth, &CoreTask::depth),
        [&](const CoreTask& t) {
          const std::vector<MeetingDepth> meets = meetingDepths(job, t);
          Key key{static_cast<std::int64_t>(meets.size())};
          for (const MeetingDepth& m : meets)
            key.insert(key.end(), {m.tap - meets.front().tap, m.image - meets.front().image});
          return key;
        },
        plain);
    std::vector<CoreTask> parts(static_cast<std::size_t>(split.reduction));
    for (std::int64_t k = 0; k < split.reduction; ++k) parts[static_cast<std::size_t>(k)].start.k = k * s.k;
    out.add("summed_channels", true, parts, [&](const CoreTask& t) { return channelKey(t, true); }, plain);
  } else {
    out.add("kernel_depth", false, counted(split.tapsD, &CoreTask::tapDepth), plain,
            [](const CoreTask& t) { return Key{t.tapDepth}; });
    // In the order in which they add: pixels, then images, then depths, the last one fastest.
    std::vector<CoreTask> added;
    for (const CoreTask& pixel : pixels(split.reduction)) {
      for (std::int64_t image = 0; image < split.batch; ++image) {
        for (std::int64_t depth = 0; depth < split.depth; ++depth) {
          CoreTask t = pixel;
          t.image = image;
          t.depth = depth;
          added.push_back(t);
        }
      }
    }
    out.add("sum", true, added, pixelKey, [&](const CoreTask& task) {
      Key key;
      for (std::int64_t tap = 0; tap < w.kernel.d; ++tap) {
        CoreTask t = task;
        t.tapDepth = tap;
        key.push_back(meetingDepths(job, t).empty() ? 0 : 1);
      }
      return key;
    });
  }

  // Places are sums over the axes. Only those of channels might not be: of any two steps they are as far from those of their classes' first
  // steps as the steps say.
  const TaskAxis &with = out.axes_.front(), &last = out.axes_.back();
  const auto first = [](const TaskAxis& axis, const TaskStep& step) -> const CoreTask& {
    return axis.steps[axis.firsts[static_cast<std::size_t>(step.cls)]].task;
  };
  for (const TaskStep& x : with.steps) {
    for (const TaskStep& y : last.steps) {
      if (!dx) break;  // there it is pixels that are summed
      const TaskPlaces here = out.placesOf(together(x.task, y.task)),
                       from = out.placesOf(together(first(with, x), first(last, y)));
      if (here.image - from.image != x.distance.image + y.distance.image ||
          here.other - from.other != x.distance.other + y.distance.other)
        return Error{ErrorCode::kUnsupported, Stage::kTile,
                     "real groups whose channels begin inside a block of the layout, summed by several tasks"};
    }
  }
  return out;
}

}  // namespace cubejit
