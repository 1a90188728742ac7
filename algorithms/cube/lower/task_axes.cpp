// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides classes by what a task's instructions depend on: extents, how the image is clipped, how channels lie.
#include "algorithms/cube/lower/task_axes.h"

#include <algorithm>
#include <map>

#include "algorithms/cube/block_stream.h"
#include "algorithms/cube/gradient_tasks.h"
#include "algorithms/cube/rules.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

using Key = TaskKey;

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
    const TaskPlaces here = keys_.places(task);
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

Result<TaskAxes> TaskAxes::create(const CubeJob& job, const CubeTensors& tensors, const CubeSums& sums) {
  TaskAxes out(job, tensors, sums);
  const CubeWork& w = job.work;
  const bool dx = w.pass == Pass::kDx;
  const Mkn& s = job.plan.cube().singleShape;
  const CoreSplit split = splitOf(w, s);

  const auto plain = [](const CoreTask&) { return Key{}; };
  const auto whole = [&](const CoreTask& task) {
    CoreTask t = task;
    t.extent = s;
    return t;
  };
  const auto channelKey = [&](const CoreTask& t, bool summed) { return out.keys_.channels(whole(t), summed); };
  const auto pixelKey = [&](const CoreTask& t) { return out.keys_.pixels(whole(t)); };
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
  out.add("channels", false, channels, [&](const CoreTask& t) { return channelKey(t, false); }, plain);

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
        "depth", false, counted(split.depth, &CoreTask::depth), [&](const CoreTask& t) { return out.keys_.depths(t); },
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
      const TaskPlaces here = out.keys_.places(together(x.task, y.task)),
                       from = out.keys_.places(together(first(with, x), first(last, y)));
      if (here.image - from.image != x.distance.image + y.distance.image ||
          here.other - from.other != x.distance.other + y.distance.other)
        return Error{ErrorCode::kUnsupported, Stage::kTile,
                     "real groups whose channels begin inside a block of the layout, summed by several tasks"};
    }
  }
  return out;
}

}  // namespace cubejit
