// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a TileProgram reads: buffers, kernels, lists, then each phase as its streams, axes and loop nest.
// Steps of an axis that are alike but for a constant distance are one line.
#include "codegen/tile/print.h"

#include <algorithm>
#include <sstream>

#include "codegen/tile/walk.h"

namespace cubejit {

namespace {

// Entries of an enumeration that a summary shows.
constexpr std::size_t kShown = 4;

std::string signedText(std::int64_t value) { return (value < 0 ? "" : "+") + std::to_string(value); }

class Printer {
 public:
  Printer(const TileProgram& program, Detail detail) : p_(program), full_(detail == Detail::kFull) {}

  std::string run() {
    out_ << "tile program " << p_.name << "\n\nbuffers\n";
    for (const Buffer& b : p_.buffers) buffer(b);
    out_ << "\nkernels\n";
    for (std::size_t i = 0; i < p_.kernels.size(); ++i) {
      out_ << "  k" << i << " " << print(p_.kernels[i], full_ ? Detail::kFull : Detail::kSummary);
    }
    out_ << "\nlists\n";
    const std::size_t lists = shown(p_.lists.size());
    for (std::size_t i = 0; i < lists; ++i) list(i);
    if (lists < p_.lists.size()) out_ << "  ... " << p_.lists.size() << " in all\n";
    for (const Phase& ph : p_.phases) phase(ph);
    return out_.str();
  }

 private:
  std::size_t shown(std::size_t count) const { return full_ ? count : std::min(count, kShown); }

  void buffer(const Buffer& b) {
    out_ << "  " << b.name << " (" << (b.kept ? "kept " : "") << toString(b.use) << "): " << b.bytes << " bytes";
    for (std::size_t i = 0; i < shown(b.values.size()); ++i) out_ << (i == 0 ? " = " : " ") << b.values[i];
    if (shown(b.values.size()) < b.values.size()) out_ << " ...";
    out_ << "\n";
  }

  void list(std::size_t index) {
    out_ << "  l" << index;
    for (std::size_t s = 0; s < p_.lists[index].size(); ++s) {
      const auto& segments = p_.lists[index][s];
      out_ << " s" << s << ":";
      for (std::size_t n = 0; n < shown(segments.size()); ++n) {
        out_ << " (a" << signedText(segments[n].aOffset) << " b" << signedText(segments[n].bOffset) << " x"
             << segments[n].outer << ")";
      }
      if (shown(segments.size()) < segments.size()) out_ << " ... " << segments.size() << " in all;";
    }
    out_ << "\n";
  }

  const Axis& axisOf(int a) const { return phase_->axes[static_cast<std::size_t>(a)]; }

  void phase(const Phase& ph) {
    phase_ = &ph;
    out_ << "\nphase " << ph.name << ": " << taskCount(ph) << (taskCount(ph) == 1 ? " task" : " tasks");
    for (const int a : ph.parallelAxes) out_ << (a == ph.parallelAxes.front() ? " over " : " x ") << axisOf(a).name;
    out_ << "\n";
    for (const Stream& s : ph.streams) {
      out_ << "  stream " << s.name << " = " << p_.buffers[static_cast<std::size_t>(s.buffer)].name
           << signedText(s.offset) << "\n";
    }
    for (const Axis& a : ph.axes) axis(a);
    nodes(ph.body, 1);
  }

  // Bytes a step moves each stream by; streams that stay are left out.
  std::string deltas(const std::vector<std::int64_t>& values) const {
    std::string text;
    for (std::size_t s = 0; s < values.size(); ++s) {
      if (values[s] != 0) text += " " + phase_->streams[s].name + signedText(values[s]);
    }
    return text.empty() ? " nothing" : text;
  }

  std::vector<std::int64_t> distance(const AxisStep& from, const AxisStep& to) const {
    std::vector<std::int64_t> d(phase_->streams.size());
    for (std::size_t s = 0; s < d.size(); ++s) d[s] = deltaOf(to.delta, s) - deltaOf(from.delta, s);
    return d;
  }

  // One past the last step of the run that begins at `first`.
  std::size_t endOfRun(const std::vector<AxisStep>& steps, std::size_t first) const {
    std::size_t end = first + 1;
    while (end < steps.size() && steps[end].cls == steps[first].cls && steps[end].repeat == steps[first].repeat &&
           steps[end].repeatDelta == steps[first].repeatDelta &&
           distance(steps[end - 1], steps[end]) == distance(steps[first], steps[first + 1])) {
      ++end;
    }
    return end;
  }

  void axis(const Axis& a) {
    out_ << "  axis " << a.name << ": " << a.steps.size() << (a.steps.size() == 1 ? " step" : " steps");
    if (a.classes > 1) out_ << " of " << a.classes << " classes";
    if (a.windowAxis >= 0) out_ << ", dealt by " << axisOf(a.windowAxis).name;
    out_ << "\n";
    std::size_t runs = 0, first = 0;
    for (; first < a.steps.size() && runs < shown(a.steps.size()); ++runs) {
      const std::size_t end = endOfRun(a.steps, first);
      const AxisStep& step = a.steps[first];
      out_ << "    " << first;
      if (end - first > 1) out_ << ".." << end - 1;
      if (a.classes > 1) out_ << " class " << step.cls;
      out_ << ":" << deltas(step.delta);
      if (end - first > 1) out_ << ", then" << deltas(distance(step, a.steps[first + 1])) << " a step";
      if (step.repeat > 1) out_ << "; x" << step.repeat << " inside the kernel," << deltas(step.repeatDelta) << " each";
      out_ << "\n";
      first = end;
    }
    if (first < a.steps.size()) out_ << "    ... " << a.steps.size() - first << " more\n";
    for (std::size_t w = 0; w < shown(a.windows.size()); ++w) {
      out_ << "    window " << w << ": [" << a.windows[w].begin << ", " << a.windows[w].end << ")\n";
    }
    if (shown(a.windows.size()) < a.windows.size()) out_ << "    ... " << a.windows.size() << " windows\n";
  }

  void nodes(const std::vector<Node>& body, int depth) {
    for (const Node& node : body) {
      out_ << std::string(static_cast<std::size_t>(depth) * 2, ' ');
      if (node.isCall()) {
        call(node.call, depth);
      } else if (node.axis < 0) {
        choice(node, depth);
      } else {
        out_ << "for " << axisOf(node.axis).name << "\n";
        nodes(node.body, depth + 1);
      }
    }
  }

  void choice(const Node& node, int depth) {
    out_ << "choose by the classes of";
    for (const int a : node.classAxes) out_ << " " << axisOf(a).name;
    out_ << "\n";
    for (std::size_t v = 0; v < node.windows.size(); ++v) {
      const Window& w = node.windows[v];
      if (w.begin >= w.end) continue;
      out_ << std::string(static_cast<std::size_t>(depth + 1) * 2, ' ') << classes(node.classAxes, v) << "\n";
      nodes({node.body.begin() + w.begin, node.body.begin() + w.end}, depth + 2);
    }
  }

  static std::string text(const Variant& v) {
    if (v.kernel < 0) return "-";
    return "k" + std::to_string(v.kernel) + (v.list < 0 ? "" : " l" + std::to_string(v.list)) +
           (v.accumulate ? " acc" : "") + (v.aligned < 0 ? "" : ", aligned k" + std::to_string(v.aligned));
  }

  void call(const Call& c, int depth) {
    const auto stream = [&](std::size_t operand) {
      const int s = streamsOf(c)[operand];
      if (s < 0) return std::string("-");
      const std::int64_t offset = c.place.offset[operand], step = c.place.repeat > 1 ? c.place.repeatStep[operand] : 0;
      return phase_->streams[static_cast<std::size_t>(s)].name + (offset == 0 ? "" : signedText(offset)) +
             (step == 0 ? "" : " each" + signedText(step));
    };
    if (c.unit != CoreUnit::kNone) out_ << (c.issues ? toString(c.unit) : "  ...") << " ";
    out_ << c.name << "(" << stream(0) << ", " << stream(1) << ", " << stream(2)
         << (c.d < 0 ? std::string() : ", " + stream(3)) << ")"
         << (c.place.repeat > 1 ? " x" + std::to_string(c.place.repeat) : std::string());
    if (c.classAxes.empty()) {
      out_ << " = " << (c.variants.empty() ? "-" : text(c.variants[0]));
      for (const UnitFlag& flag : c.flags) out_ << (&flag == &c.flags.front() ? "; " : ", ") << print(flag);
      out_ << "\n";
      return;
    }
    out_ << " by the classes of";
    for (const int a : c.classAxes) out_ << " " << axisOf(a).name;
    out_ << "\n";
    std::size_t printed = 0, kernels = 0;
    for (std::size_t v = 0; v < c.variants.size(); ++v) {
      if (c.variants[v].kernel < 0) continue;
      if (++kernels > shown(c.variants.size())) continue;
      ++printed;
      out_ << std::string(static_cast<std::size_t>(depth + 1) * 2, ' ') << classes(c.classAxes, v) << " = "
           << text(c.variants[v]) << "\n";
    }
    if (printed < kernels)
      out_ << std::string(static_cast<std::size_t>(depth + 1) * 2, ' ') << "... " << kernels << " variants\n";
  }

  // The classes whose number this is, in the order of the axes.
  std::string classes(const std::vector<int>& classAxes, std::size_t number) const {
    std::string digits;
    for (auto a = classAxes.rbegin(); a != classAxes.rend(); ++a) {
      const auto radix = static_cast<std::size_t>(std::max(1, axisOf(*a).classes));
      digits = std::to_string(number % radix) + (digits.empty() ? "" : " ") + digits;
      number /= radix;
    }
    return digits;
  }

  const TileProgram& p_;
  const bool full_;
  const Phase* phase_ = nullptr;
  std::ostringstream out_;
};

}  // namespace

std::string print(const UnitFlag& flag) {
  if (flag.kind == UnitFlag::Kind::kBarrier) return "barrier";
  return std::string(flag.kind == UnitFlag::Kind::kSet ? "set " : "wait ") + toString(flag.from) + "_" +
         toString(flag.to) + ":" + std::to_string(flag.id);
}

std::string print(const TileProgram& program, Detail detail) { return Printer(program, detail).run(); }

}  // namespace cubejit
