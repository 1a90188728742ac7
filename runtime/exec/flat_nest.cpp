// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which loops become lists: from the innermost outwards, while all steps are run and the lists stay short.
#include "runtime/exec/flat_nest.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace cubejit {
namespace {

// A step fills a line or two of a cache: this many are little beside what the kernels read.
constexpr std::size_t kMostNestSteps = 512;

FlatAxis flatAxis(const Axis& axis, std::size_t streams) {
  FlatAxis flat;
  // Windows that all have every step are none: such loops become lists, too.
  const Window all{0, static_cast<int>(axis.steps.size())};
  if (!std::all_of(axis.windows.begin(), axis.windows.end(), [&](const Window& w) { return w == all; })) {
    flat.windowAxis = axis.windowAxis;
    flat.windows = axis.windows;
  }
  for (const AxisStep& step : axis.steps) {
    for (std::size_t s = 0; s < streams; ++s) {
      flat.delta.push_back(deltaOf(step.delta, s));
      flat.repeatDelta.push_back(deltaOf(step.repeatDelta, s));
    }
    flat.cls.push_back(step.cls);
    flat.repeat.push_back(step.repeat);
  }
  return flat;
}

class Flattening {
 public:
  explicit Flattening(const Phase& phase) : phase_(phase) {
    for (const Axis& axis : phase.axes) out_.axes.push_back(flatAxis(axis, phase.streams.size()));
  }

  FlatNests run() {
    out_.body = joined(nodes(phase_.body));
    return std::move(out_);
  }

 private:
  std::vector<FlatNode> nodes(std::span<const Node> from) {
    std::vector<FlatNode> out;
    for (const Node& node : from)
      out.push_back(node.isCall() ? call(node.call) : node.axis < 0 ? choice(node) : loop(node));
    return out;
  }

  ClassWeights weightsOf(const std::vector<int>& classAxes) const {
    ClassWeights weights;
    int multiplier = 1;
    for (auto axis = classAxes.rbegin(); axis != classAxes.rend(); ++axis) {
      weights.emplace_back(*axis, multiplier);
      multiplier *= phase_.axes[static_cast<std::size_t>(*axis)].classes;
    }
    return weights;
  }

  FlatNode call(const Call& call) {
    const CallPlace& place = call.place;
    FlatNode node;
    node.sites.push_back({static_cast<int>(out_.calls.size()), weightsOf(call.classAxes)});
    out_.calls.push_back(&call);
    node.steps.push_back({place.offset[0], place.offset[1], place.offset[2], place.offset[3], place.repeatStep[0],
                          place.repeatStep[1], place.repeatStep[2], place.repeatStep[3], place.repeat});
    return node;
  }

  FlatNode choice(const Node& node) {
    FlatNode out;
    out.weights = weightsOf(node.classAxes);
    std::map<std::pair<int, int>, std::size_t> parts;
    for (const Window& w : node.windows) {
      const auto [part, fresh] = parts.emplace(std::pair{w.begin, w.end}, out.body.size());
      if (fresh)
        out.body.emplace_back().body = joined(nodes(std::span(node.body).subspan(
            static_cast<std::size_t>(w.begin), static_cast<std::size_t>(w.end - w.begin))));
      out.chosen.push_back(part->second);
    }
    return out;
  }

  // Calls that follow each other are one list.
  static std::vector<FlatNode> joined(std::vector<FlatNode> nodes) {
    std::vector<FlatNode> out;
    for (FlatNode& node : nodes) {
      if (out.empty() || !node.list() || node.axis >= 0 || !out.back().list() || out.back().axis >= 0) {
        out.push_back(std::move(node));
        continue;
      }
      FlatNode& list = out.back();
      for (CallStep step : node.steps) {
        step.site += list.sites.size();
        list.steps.push_back(step);
      }
      list.sites.insert(list.sites.end(), node.sites.begin(), node.sites.end());
    }
    for (FlatNode& node : out) {
      if (node.list() && node.axis < 0) node.perStep = node.steps.size();
    }
    return out;
  }

  FlatNode loop(const Node& node) {
    FlatNode out;
    out.axis = node.axis;
    out.body = nodes(node.body);
    const FlatAxis& axis = out_.axes[static_cast<std::size_t>(node.axis)];
    std::size_t each = 0, sites = 0;
    for (const FlatNode& inner : out.body) {
      const bool allSteps = inner.axis < 0 || out_.axes[static_cast<std::size_t>(inner.axis)].windowAxis < 0;
      if (!inner.list() || !allSteps) return loopOf(std::move(out));
      each += inner.steps.size();
      sites += inner.sites.size();
    }
    const bool oneCall = out.body.size() == 1 && node.body.front().isCall();  // always: only there steps may repeat
    const std::size_t all = each * axis.cls.size();
    if (!oneCall && (sites > kMostSites || all > kMostNestSteps)) return loopOf(std::move(out));
    list(out, axis, each);
    return out;
  }

  static FlatNode loopOf(FlatNode loop) {
    loop.body = joined(std::move(loop.body));
    return loop;
  }

  void list(FlatNode& loop, const FlatAxis& axis, std::size_t each) const {
    std::vector<CallStep> once;
    for (const FlatNode& inner : loop.body) {
      for (CallStep step : inner.steps) {
        step.site += loop.sites.size();
        once.push_back(step);
      }
      loop.sites.insert(loop.sites.end(), inner.sites.begin(), inner.sites.end());
    }
    for (std::size_t i = 0; i < axis.cls.size(); ++i) {
      for (const CallStep& step : once) loop.steps.push_back(moved(step, loop, axis, i));
    }
    for (FlatCallSite& site : loop.sites) {
      site.outer.erase(std::remove_if(site.outer.begin(), site.outer.end(),
                                      [&](const auto& counted) { return counted.first == loop.axis; }),
                       site.outer.end());
    }
    loop.perStep = each;
    loop.body.clear();
  }

  // `step` in step i of the axis around it.
  CallStep moved(CallStep step, const FlatNode& loop, const FlatAxis& axis, std::size_t i) const {
    const FlatCallSite& site = loop.sites[step.site];
    const Call& call = *out_.calls[static_cast<std::size_t>(site.call)];
    const auto of = [&](const std::vector<std::int64_t>& deltas, int stream) {
      return stream < 0 ? 0 : deltas[i * phase_.streams.size() + static_cast<std::size_t>(stream)];
    };
    step.a += of(axis.delta, call.a);
    step.b += of(axis.delta, call.b);
    step.c += of(axis.delta, call.c);
    step.d += of(axis.delta, call.d);
    if (axis.repeat[i] > 1) {
      step.repeat = axis.repeat[i];
      step.aRepeat = of(axis.repeatDelta, call.a);
      step.bRepeat = of(axis.repeatDelta, call.b);
      step.cRepeat = of(axis.repeatDelta, call.c);
      step.dRepeat = of(axis.repeatDelta, call.d);
    }
    for (const auto& [counted, multiplier] : site.outer) {
      if (counted == loop.axis) step.variant += static_cast<std::size_t>(axis.cls[i] * multiplier);
    }
    return step;
  }

  const Phase& phase_;
  FlatNests out_;
};

}  // namespace

FlatNests flatten(const Phase& phase) { return Flattening(phase).run(); }

}  // namespace cubejit
