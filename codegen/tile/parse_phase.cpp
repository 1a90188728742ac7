// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how lines become streams, axes and the nest; a node's body is what stands further to the right.
#include "codegen/tile/parse_phase.h"

#include <limits>

#include "codegen/tile/class_rows.h"
#include "codegen/tile/run_text.h"

namespace cubejit {
namespace {

constexpr std::int64_t kLeastOffset = std::numeric_limits<std::int64_t>::min(),
                       kMostOffset = std::numeric_limits<std::int64_t>::max(),
                       kMostInt = std::numeric_limits<int>::max();
// Loops and choices within each other: what walks nests calls itself.
constexpr int kDeepest = 64;

class PhaseParser {
 public:
  PhaseParser(TextReader& in, const ProgramNames& names) : in_(in), names_(names) {}

  Phase run() {
    phase_.name = in_.name("the phase's name");
    if (in_.take("cycles")) phase_.workCycles = in_.real64("a number of cycles");
    in_.nextLine();
    while (in_.take("stream")) stream();
    while (in_.take("axis")) axis();
    while (in_.take("windows")) windows();
    if (in_.take("parallel")) {
      phase_.parallelAxes = axesUpToEnd();
      in_.nextLine();
    }
    phase_.body = nodes(0, 0);
    return std::move(phase_);
  }

 private:
  void stream() {
    Stream& s = phase_.streams.emplace_back();
    s.name = in_.name("the stream's name");
    streams_.add(s.name);
    in_.expectSymbol("=");
    s.buffer = names_.buffers.read(in_, "a buffer");
    s.offset = offset();
    in_.nextLine();
  }

  std::int64_t offset() { return in_.atSigned() ? in_.signedInteger(kLeastOffset, kMostOffset, "an offset") : 0; }

  std::vector<std::int64_t> deltas(std::int64_t* cls = nullptr) {
    std::vector<std::int64_t> values;
    while (in_.atOffset()) {
      if (cls != nullptr && in_.take(kClassWord)) {
        *cls = in_.signedInteger(-kMostInt, kMostInt, "a distance with its sign");
        continue;
      }
      const int stream = streams_.read(in_, "a stream");
      const std::int64_t by = in_.signedInteger(kLeastOffset, kMostOffset, "a distance in bytes with its sign");
      if (stream < 0 || static_cast<std::size_t>(stream) >= streams_.size()) in_.fail("there is no such stream");
      if (in_.failed()) break;
      if (values.size() <= static_cast<std::size_t>(stream)) values.resize(static_cast<std::size_t>(stream) + 1);
      values[static_cast<std::size_t>(stream)] = by;
    }
    return values;
  }

  void axis() {
    Axis& a = phase_.axes.emplace_back();
    a.name = in_.name("the axis' name");
    axes_.add(a.name);
    if (in_.take("classes")) a.classes = in_.integerOf<int>("a number of classes");
    bool more = in_.takeSymbol(":");
    while (more) {
      step(a.steps);
      if (in_.endOfLine()) {
        in_.nextLine();
        more = in_.takeSymbol("|");
        if (!more) return;
      } else {
        in_.expectSymbol("|");
        more = !in_.failed();
      }
    }
    in_.nextLine();
  }

  void step(std::vector<AxisStep>& steps) {
    AxisStep& step = steps.emplace_back();
    bool some = in_.takeSymbol("+0");
    if (in_.peekWord() == kClassWord && !in_.atOffset()) {
      in_.expect(kClassWord);
      step.cls = in_.integerOf<int>("a class");
      some = true;
    }
    step.delta = deltas();
    if (!some && step.delta.empty()) in_.failExpecting("a step: its class, what it moves, or +0");
    if (in_.take("inside")) {
      step.repeat = in_.integerOf<std::int64_t>("how often");
      if (in_.takeSymbol(":")) step.repeatDelta = deltas();
    }
    const auto far = [&] {
      StepDistance d;
      d.delta = deltas(&d.cls);
      return d;
    };
    readRepeats(in_, steps, 1 + static_cast<std::int64_t>(streams_.size()), far);
  }

  void windows() {
    const int index = axes_.read(in_, "an axis");
    in_.expect("by");
    const int by = axes_.read(in_, "an axis");
    std::vector<Window> windows;
    if (in_.takeSymbol(":")) {
      do {
        windows.push_back(window());
        readRepeats(in_, windows, 1);
      } while (in_.takeSymbol("|"));
    }
    in_.nextLine();
    if (index < 0 || static_cast<std::size_t>(index) >= phase_.axes.size()) {
      in_.fail("there is no such axis");
      return;
    }
    phase_.axes[static_cast<std::size_t>(index)].windowAxis = by;
    phase_.axes[static_cast<std::size_t>(index)].windows = std::move(windows);
  }

  Window window() {
    Window w;
    w.begin = static_cast<int>(in_.integer(0, kMostInt, "the first of a range"));
    in_.expectSymbol("..");
    w.end = static_cast<int>(in_.integer(0, kMostInt, "the one behind the last"));
    return w;
  }

  std::vector<int> axesUpToEnd() {
    std::vector<int> axes;
    while (!in_.endOfLine()) axes.push_back(axes_.read(in_, "an axis"));
    return axes;
  }

  std::vector<Node> nodes(std::size_t margin, int depth) {
    std::vector<Node> nodes;
    while (!in_.endOfLine() && in_.indent() > margin) {
      const std::size_t indent = in_.indent();
      if (in_.take("call")) {
        nodes.emplace_back().call = call();
        continue;
      }
      Node node;
      const bool loop = in_.take("for");
      if (loop) {
        node.axis = axes_.read(in_, "an axis");
        if (node.axis < 0) in_.fail("there is no such axis");
        in_.nextLine();
      } else if (in_.take("choose")) {
        in_.expect("by");
        node.classAxes = axesUpToEnd();
        node.windows = rows<Window>(node.classAxes);
      } else {
        in_.failExpecting("'for', 'choose' or 'call'");
      }
      if (depth == kDeepest)
        in_.fail("loops and choices within each other are more than " + std::to_string(kDeepest) + " deep");
      node.body = this->nodes(indent, depth + 1);
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  Call call() {
    Call c;
    c.name = in_.name("the call's name");
    in_.expectSymbol("(");
    int* const streams[] = {&c.a, &c.b, &c.c, &c.d};
    for (std::size_t s = 0; s < 4 && (s < 3 || in_.takeSymbol(",")); ++s) {
      if (s == 1 || s == 2) in_.expectSymbol(",");
      *streams[s] = in_.takeSymbol("-") ? -1 : streams_.read(in_, "a stream or -");
      c.place.offset[s] = offset();
      if (in_.take("each"))
        c.place.repeatStep[s] = in_.signedInteger(kLeastOffset, kMostOffset, "a distance with its sign");
    }
    in_.expectSymbol(")");
    if (in_.take("repeat")) c.place.repeat = in_.integerOf<std::int64_t>("how often");
    if (in_.take("unit")) c.unit = names_.units.read(in_, "a unit");
    c.issues = in_.take("issues");
    if (in_.take("flags")) {
      do c.flags.push_back(flag());
      while (in_.takeSymbol(","));
    }
    if (in_.take("by")) {
      c.classAxes = axesUpToEnd();
      c.variants = rows<Variant>(c.classAxes);
    } else {
      in_.expectSymbol("=");
      c.variants = {entry(Variant{})};
      in_.nextLine();
    }
    return c;
  }

  UnitFlag flag() {
    UnitFlag f;
    int kind = 0;
    while (kind < 2 && !in_.take(kFlagWords[kind])) ++kind;
    if (kind == 2) in_.expect(kFlagWords[kind]);
    f.kind = static_cast<UnitFlag::Kind>(kind);
    f.from = names_.queues.read(in_, "a queue");
    f.to = names_.queues.read(in_, "a queue");
    f.id = in_.integerOf<std::uint8_t>("a flag");
    return f;
  }

  Variant entry(const Variant& /*type*/) {
    Variant v;
    if (!in_.takeSymbol("-")) v.kernel = static_cast<int>(in_.numbered("k", 0, kMostInt, "a kernel, kN, or -"));
    if (in_.atNumbered("l")) v.list = static_cast<int>(in_.numbered("l", 0, kMostInt, "a list, lN"));
    v.accumulate = in_.take("acc");
    if (in_.take("aligned")) v.aligned = static_cast<int>(in_.numbered("k", 0, kMostInt, "a kernel, kN"));
    return v;
  }
  Window entry(const Window& /*type*/) { return in_.takeSymbol("-") ? Window{} : window(); }

  // The rows below a line that ends with axes; combinations that none names have the default.
  template <class T>
  std::vector<T> rows(const std::vector<int>& classAxes) {
    const ClassRows shape(phase_.axes, classAxes);
    std::size_t all = 0;
    if (!shape.count(all) || all > static_cast<std::size_t>(TextReader::kMostItems))
      in_.fail("the axes have more combinations of classes than are read", ErrorCode::kLimitExceeded);
    in_.claim(static_cast<std::int64_t>(std::min(all, static_cast<std::size_t>(TextReader::kMostItems))));
    std::vector<T> entries(in_.failed() ? 0 : all);
    in_.nextLine();
    while (!in_.endOfLine() && (in_.atNumber() || in_.atSymbol("*") || in_.atSymbol("="))) {
      const std::size_t begin = row(shape);
      std::vector<T> cells;
      do {
        cells.push_back(entry(T{}));
        readRepeats(in_, cells, 1);
      } while (in_.takeSymbol("|"));
      if (cells.size() != shape.width())
        in_.fail("a row of " + std::to_string(cells.size()) + " where the axis has " + std::to_string(shape.width()) +
                 " classes");
      if (in_.nextLine(); in_.failed()) break;
      std::copy(cells.begin(), cells.end(), entries.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    return entries;
  }

  // The number of its first combination.
  std::size_t row(const ClassRows& shape) {
    std::size_t row = 0;
    for (std::size_t a = 0; a < shape.axes(); ++a) {
      if (a == shape.across())
        in_.expectSymbol("*");
      else
        row = row * shape.radix(a) +
              static_cast<std::size_t>(in_.integer(0, static_cast<std::int64_t>(shape.radix(a)) - 1, "a class"));
    }
    in_.expectSymbol("=");
    return shape.number(row, 0);
  }

  TextReader& in_;
  const ProgramNames& names_;
  PartNames streams_, axes_;
  Phase phase_;
};

}  // namespace

Phase readPhase(TextReader& in, const ProgramNames& names) { return PhaseParser(in, names).run(); }

}  // namespace cubejit
