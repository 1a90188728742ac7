// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether calls stay inside their buffers. An address is a sum with one summand an axis, and axes step independently
// once the classes that pick variants and windows are fixed: so per combination of classes the smallest and the largest
// address are the sums of the smallest and the largest summands, and no call has to be walked.
#include <algorithm>
#include <map>
#include <optional>

#include "codegen/tile/rules.h"
#include "codegen/tile/touch.h"
#include "codegen/tile/walk.h"

namespace cubejit {
namespace {

using ReachedBytes = std::vector<ByteRange>;  // per stream, smallest and largest (inclusive) offset

class Addresses {
 public:
  explicit Addresses(const TileProgram& program) : p_(program) {}

  std::vector<std::string> run() {
    for (const Phase& phase : p_.phases) {
      phase_ = &phase;
      reach_.clear();
      enclosing_ = phase.parallelAxes;
      chosen_.clear();
      for (const Node& node : phase.body) visit(node);
    }
    return std::move(rules_);
  }

 private:
  const Axis& axisOf(int a) const { return phase_->axes[static_cast<std::size_t>(a)]; }

  void visit(const Node& node) {
    if (node.isCall()) {
      call(node.call);
      return;
    }
    if (node.axis < 0) {
      choice(node);
      return;
    }
    enclosing_.push_back(node.axis);
    for (const Node& child : node.body) visit(child);
    enclosing_.pop_back();
  }

  // Each part once for every combination of classes that chooses it.
  void choice(const Node& node) {
    for (std::size_t number = 0; number < node.windows.size(); ++number) {
      const std::map<int, int> before = chosen_;
      std::size_t rest = number;
      bool possible = true;
      for (auto a = node.classAxes.rbegin(); a != node.classAxes.rend(); ++a) {
        const auto classes = static_cast<std::size_t>(axisOf(*a).classes);
        const int cls = static_cast<int>(rest % classes);
        rest /= classes;
        possible = possible && chosen_.emplace(*a, cls).first->second == cls;
      }
      for (int i = node.windows[number].begin; possible && i < node.windows[number].end; ++i)
        visit(node.body[static_cast<std::size_t>(i)]);
      chosen_ = before;
    }
  }

  void call(const Call& c) {
    if (std::any_of(enclosing_.begin(), enclosing_.end(), [&](int a) { return axisOf(a).steps.empty(); }))
      return;  // never made
    std::vector<int> fixed = c.classAxes;
    for (const int a : enclosing_) {
      const int w = axisOf(a).windowAxis;
      if (w >= 0 && std::find(fixed.begin(), fixed.end(), w) == fixed.end()) fixed.push_back(w);
    }
    std::map<int, int> classes = chosen_;
    std::erase_if(fixed, [&](int axis) { return chosen_.count(axis) > 0; });
    reported_ = {};
    combine(c, fixed, 0, classes);
  }

  void combine(const Call& c, const std::vector<int>& fixed, std::size_t depth, std::map<int, int>& classes) {
    if (depth == fixed.size()) {
      check(c, classes);
      return;
    }
    for (int k = 0; k < axisOf(fixed[depth]).classes; ++k) {
      classes[fixed[depth]] = k;
      combine(c, fixed, depth + 1, classes);
    }
  }

  void check(const Call& c, const std::map<int, int>& classes) {
    std::size_t number = 0;
    for (const int a : c.classAxes)
      number = number * static_cast<std::size_t>(axisOf(a).classes) + static_cast<std::size_t>(classes.at(a));
    const Variant& v = c.variants[number];
    if (v.kernel < 0) return;
    const std::array<int, 4> streams = streamsOf(c);
    std::array<ByteRange, 4> at{};
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if (streams[s] < 0) continue;
      const std::int64_t origin = phase_->streams[static_cast<std::size_t>(streams[s])].offset;
      const auto [lo, hi] = c.place.reach(s);
      at[s] = {origin + lo, origin + hi};
    }
    for (const int a : enclosing_) {
      const Axis& axis = axisOf(a);
      const auto own = classes.find(a);
      const std::optional<ReachedBytes>& reach =
          reachOf(a, own == classes.end() ? -1 : own->second, axis.windowAxis < 0 ? -1 : classes.at(axis.windowAxis));
      if (!reach) return;  // no step of these classes: the call is never made
      for (std::size_t s = 0; s < streams.size(); ++s) {
        if (streams[s] < 0) continue;
        at[s].begin += (*reach)[static_cast<std::size_t>(streams[s])].begin;
        at[s].end += (*reach)[static_cast<std::size_t>(streams[s])].end;
      }
    }
    const std::array<ByteRange, 4>& touched = touchedBy(v);
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if (streams[s] < 0 || touched[s].empty()) continue;
      const Stream& stream = phase_->streams[static_cast<std::size_t>(streams[s])];
      const Buffer& buffer = p_.buffers[static_cast<std::size_t>(stream.buffer)];
      const std::int64_t begin = at[s].begin + touched[s].begin, end = at[s].end + touched[s].end;
      if ((begin >= 0 && end <= buffer.bytes) || reported_[s]) continue;
      reported_[s] = true;
      rules_.push_back("phase " + phase_->name + ": call " + c.name + " variant " + std::to_string(number) +
                       ": stream " + stream.name + " touches bytes [" + std::to_string(begin) + ", " +
                       std::to_string(end) + ") of " + buffer.name + ", which has " + std::to_string(buffer.bytes));
    }
  }

  // Steps of `axis` with class `own` (-1: any) in window `window` (-1: all); nothing if there are none.
  const std::optional<ReachedBytes>& reachOf(int a, int own, int window) {
    const auto [it, fresh] = reach_.try_emplace({a, own, window});
    if (!fresh) return it->second;
    const Axis& axis = axisOf(a);
    const Window w =
        window < 0 ? Window{0, static_cast<int>(axis.steps.size())} : axis.windows[static_cast<std::size_t>(window)];
    std::optional<ReachedBytes>& reach = it->second;
    for (int i = w.begin; i < w.end; ++i) {
      const AxisStep& step = axis.steps[static_cast<std::size_t>(i)];
      if (own >= 0 && step.cls != own) continue;
      const bool first = !reach.has_value();
      if (first) reach.emplace(phase_->streams.size());
      for (std::size_t s = 0; s < reach->size(); ++s) {
        const std::int64_t begin = deltaOf(step.delta, s);
        const std::int64_t end = begin + (step.repeat - 1) * deltaOf(step.repeatDelta, s);
        const ByteRange here{std::min(begin, end), std::max(begin, end)};
        (*reach)[s] =
            first ? here : ByteRange{std::min((*reach)[s].begin, here.begin), std::max((*reach)[s].end, here.end)};
      }
    }
    return reach;
  }

  const std::array<ByteRange, 4>& touchedBy(const Variant& v) {
    const auto [it, fresh] = touched_.try_emplace({v.kernel, v.list});
    if (fresh)
      it->second = extents(p_.kernels[static_cast<std::size_t>(v.kernel)],
                           v.list < 0 ? nullptr : &p_.lists[static_cast<std::size_t>(v.list)]);
    return it->second;
  }

  const TileProgram& p_;
  const Phase* phase_ = nullptr;
  std::vector<int> enclosing_;
  std::map<int, int> chosen_;  // classes of axes, by the choices around a node
  std::map<std::array<int, 3>, std::optional<ReachedBytes>> reach_;
  std::map<std::pair<int, int>, std::array<ByteRange, 4>> touched_;
  std::array<bool, 4> reported_{};  // of the current call, per stream: one example is enough
  std::vector<std::string> rules_;
};

}  // namespace

std::vector<std::string> addressRules(const TileProgram& program) { return Addresses(program).run(); }

}  // namespace cubejit
