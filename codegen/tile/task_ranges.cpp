// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides ranges per path: an address is a sum over axes, so its extremes are the sums of each axis' extremes.
#include "codegen/tile/task_ranges.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace cubejit {
namespace {

// How far an operand of one call moves along the loops around it.
struct Path {
  int stream = -1;
  TaskRange own;  ///< of the call itself
  std::vector<int> loops;
};

void collect(const std::vector<Node>& nodes, const Phase& phase, int buffer, std::vector<int>& loops,
             std::vector<Path>& paths) {
  for (const Node& node : nodes) {
    if (!node.isCall()) {
      if (node.axis >= 0) loops.push_back(node.axis);
      collect(node.body, phase, buffer, loops, paths);
      if (node.axis >= 0) loops.pop_back();
      continue;
    }
    const int streams[] = {node.call.a, node.call.b};
    for (std::size_t s = 0; s < 2; ++s) {
      if (streams[s] < 0 || phase.streams[static_cast<std::size_t>(streams[s])].buffer != buffer) continue;
      const auto [lo, hi] = node.call.place.reach(s);
      paths.push_back({streams[s], {lo, hi}, loops});
    }
  }
}

// Extremes of a stream over some steps of an axis; none if there are no steps.
std::optional<TaskRange> extremes(const Axis& axis, Window steps, std::size_t stream) {
  if (steps.begin >= steps.end) return std::nullopt;
  TaskRange range;
  for (int i = steps.begin; i < steps.end; ++i) {
    const AxisStep& step = axis.steps[static_cast<std::size_t>(i)];
    const std::int64_t at = deltaOf(step.delta, stream),
                       last = at + (step.repeat - 1) * deltaOf(step.repeatDelta, stream);
    const bool first = i == steps.begin;
    range.lo = first ? std::min(at, last) : std::min({range.lo, at, last});
    range.hi = first ? std::max(at, last) : std::max({range.hi, at, last});
  }
  return range;
}

// A loop of a path: its extremes, by class of the parallel axis that deals its steps out, or one for all.
struct Reach {
  int dealtBy = -1;
  std::vector<std::optional<TaskRange>> byClass;
};

Reach reachOf(const Phase& phase, int axisIndex, int stream) {
  const Axis& axis = phase.axes[static_cast<std::size_t>(axisIndex)];
  const bool dealt =
      std::find(phase.parallelAxes.begin(), phase.parallelAxes.end(), axis.windowAxis) != phase.parallelAxes.end();
  Reach reach;
  if (dealt) {
    reach.dealtBy = axis.windowAxis;
    for (const Window& window : axis.windows) reach.byClass.push_back(extremes(axis, window, stream));
  } else {
    reach.byClass.push_back(extremes(axis, {0, static_cast<int>(axis.steps.size())}, stream));
  }
  return reach;
}

}  // namespace

std::vector<TaskRange> taskRanges(const Phase& phase, int buffer) {
  std::vector<int> loops;
  std::vector<Path> paths;
  collect(phase.body, phase, buffer, loops, paths);
  std::vector<std::vector<Reach>> reaches;
  for (const Path& path : paths) {
    std::vector<Reach> reach;
    for (const int axis : path.loops) reach.push_back(reachOf(phase, axis, path.stream));
    reaches.push_back(std::move(reach));
  }
  std::vector<TaskRange> ranges(static_cast<std::size_t>(taskCount(phase)));
  std::vector<const AxisStep*> now(phase.axes.size(), nullptr);  // of parallel axes
  for (std::size_t task = 0; task < ranges.size(); ++task) {
    std::size_t rest = task;
    for (auto axis = phase.parallelAxes.rbegin(); axis != phase.parallelAxes.rend(); ++axis) {
      const std::vector<AxisStep>& steps = phase.axes[static_cast<std::size_t>(*axis)].steps;
      now[static_cast<std::size_t>(*axis)] = &steps[rest % steps.size()];
      rest /= steps.size();
    }
    for (std::size_t p = 0; p < paths.size(); ++p) {
      const std::int64_t origin = phase.streams[static_cast<std::size_t>(paths[p].stream)].offset;
      std::int64_t lo = origin + paths[p].own.lo, hi = origin + paths[p].own.hi;
      for (const int axis : phase.parallelAxes) {
        const std::int64_t delta = deltaOf(now[static_cast<std::size_t>(axis)]->delta, paths[p].stream);
        lo += delta;
        hi += delta;
      }
      bool reads = true;
      for (const Reach& reach : reaches[p]) {
        const std::size_t cls =
            reach.dealtBy < 0 ? 0 : static_cast<std::size_t>(now[static_cast<std::size_t>(reach.dealtBy)]->cls);
        const std::optional<TaskRange>& own = reach.byClass[cls];
        reads = reads && own.has_value();
        if (!own) break;
        lo += own->lo;
        hi += own->hi;
      }
      if (!reads) continue;
      TaskRange& all = ranges[task];
      all = all.reads() ? TaskRange{std::min(all.lo, lo), std::max(all.hi, hi)} : TaskRange{lo, hi};
    }
  }
  return ranges;
}

}  // namespace cubejit
