// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond program.h: the current step of every axis is kept, and each call adds its addresses up from scratch.
#include "codegen/tile/walk.h"

#include <utility>
#include <vector>

namespace cubejit {
namespace {

class Walk {
 public:
  using Calls = std::function<bool(const CallSite&)>;
  using Choices = std::function<bool(const ChoiceSite&)>;

  /// Where choices are visited, what is in them is not.
  Walk(const Phase& phase, Calls calls, Choices choices)
      : phase_(phase), calls_(std::move(calls)), choices_(std::move(choices)), current_(phase.axes.size(), nullptr) {}

  bool tasks(std::size_t depth) {
    if (depth == phase_.parallelAxes.size()) {
      const bool more = nodes(phase_.body);
      ++task_;
      return more;
    }
    const int axis = phase_.parallelAxes[depth];
    for (const AxisStep& step : axisOf(axis).steps) {
      enter(axis, step);
      const bool more = tasks(depth + 1);
      leave(axis);
      if (!more) return false;
    }
    return true;
  }

 private:
  const Axis& axisOf(int axis) const { return phase_.axes[static_cast<std::size_t>(axis)]; }
  const AxisStep*& current(int axis) { return current_[static_cast<std::size_t>(axis)]; }
  void enter(int axis, const AxisStep& step) {
    current(axis) = &step;
    enclosing_.push_back(axis);
  }
  void leave(int axis) {
    current(axis) = nullptr;
    enclosing_.pop_back();
  }

  bool nodes(const std::vector<Node>& body) { return nodes(body, {0, static_cast<int>(body.size())}); }
  bool nodes(const std::vector<Node>& body, Window window) {
    for (int i = window.begin; i < window.end; ++i) {
      const Node& node = body[static_cast<std::size_t>(i)];
      if (!(node.isCall() ? call(node.call) : node.axis >= 0 ? loop(node) : choice(node))) return false;
    }
    return true;
  }

  bool loop(const Node& node) {
    const Axis& axis = axisOf(node.axis);
    Window window{0, static_cast<int>(axis.steps.size())};
    if (axis.windowAxis >= 0) window = axis.windows[static_cast<std::size_t>(current(axis.windowAxis)->cls)];
    for (int i = window.begin; i < window.end; ++i) {
      enter(node.axis, axis.steps[static_cast<std::size_t>(i)]);
      const bool more = nodes(node.body);
      leave(node.axis);
      if (!more) return false;
    }
    return true;
  }

  std::size_t number(const std::vector<int>& classAxes) {
    std::size_t number = 0;
    for (const int axis : classAxes)
      number = number * static_cast<std::size_t>(axisOf(axis).classes) + static_cast<std::size_t>(current(axis)->cls);
    return number;
  }

  bool choice(const Node& node) {
    const std::size_t chosen = number(node.classAxes);
    return choices_ ? choices_({task_, &node, chosen, &current_}) : nodes(node.body, node.windows[chosen]);
  }

  bool call(const Call& call) {
    if (!calls_) return true;
    CallSite site;
    site.task = task_;
    site.call = &call;
    site.variant = &call.variants[number(call.classAxes)];
    if (site.variant->kernel < 0) return true;
    const std::array<int, 4> streams = streamsOf(call);
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if (streams[s] < 0) continue;
      const auto stream = static_cast<std::size_t>(streams[s]);
      site.at[s] = phase_.streams[stream].offset + call.place.offset[s];
      for (const int axis : enclosing_) site.at[s] += deltaOf(current(axis)->delta, stream);
    }
    site.repeat = call.place.repeat;
    site.repeatStep = call.place.repeatStep;
    if (!enclosing_.empty() && current(enclosing_.back())->repeat > 1) {
      const AxisStep& innermost = *current(enclosing_.back());
      site.repeat = innermost.repeat;
      for (std::size_t s = 0; s < streams.size(); ++s)
        site.repeatStep[s] = streams[s] < 0 ? 0 : deltaOf(innermost.repeatDelta, static_cast<std::size_t>(streams[s]));
    }
    return calls_(site);
  }

  const Phase& phase_;
  const Calls calls_;
  const Choices choices_;
  std::vector<const AxisStep*> current_;  // per axis; null outside its loop
  std::vector<int> enclosing_;            // outermost first
  std::int64_t task_ = 0;
};

}  // namespace

bool walkCalls(const Phase& phase, const std::function<bool(const CallSite&)>& visit) {
  return Walk(phase, visit, {}).tasks(0);
}

bool walkChoices(const Phase& phase, const std::function<bool(const ChoiceSite&)>& visit) {
  return Walk(phase, {}, visit).tasks(0);
}

}  // namespace cubejit
