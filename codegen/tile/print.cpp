// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a TileProgram reads: buffers, kernels, lists, then each phase as its streams, axes and loop nest. What is alike but for a
// constant distance is one entry and its repetition. Parts are named; @N is number N where a name would not say which.
#include "codegen/tile/print.h"

#include "codegen/text/text_stream.h"
#include "codegen/text/writer.h"
#include "codegen/tile/class_rows.h"
#include "codegen/tile/part_names.h"
#include "codegen/tile/run_text.h"
#include "codegen/tile/walk.h"

namespace cubejit {

namespace {

// What a run of steps must save where they have classes: those of few steps are told one by one.
constexpr std::size_t kLeastOfClasses = 4;

class Printer {
 public:
  Printer(const TileProgram& program, Detail detail) : p_(program), full_(detail == Detail::kFull), names_(program) {}

  std::string run() {
    out_ << "cubejit tile " << kTileTextVersion << "\nprogram " << nameText(p_.name) << "\n\n";
    for (const Buffer& b : p_.buffers) buffer(b);
    for (const std::string& queue : p_.queues) out_ << "queue " << nameText(queue) << "\n";
    for (const MachineUnit& unit : p_.units)
      out_ << "unit " << nameText(unit.name) << " in " << names_.queues.text(unit.queue) << "\n";
    if (!(p_.residual == Residual{}))
      out_ << "residual " << names_.buffers.text(p_.residual.result) << " adds "
           << names_.buffers.text(p_.residual.addend) << "\n";
    if (!p_.kernels.empty()) out_ << "\n";
    for (std::size_t i = 0; i < p_.kernels.size(); ++i)
      out_ << "k" << i << " " << print(p_.kernels[i], full_ ? Detail::kFull : Detail::kSummary);
    if (!p_.lists.empty()) out_ << "\n";
    const std::size_t lists = shown(p_.lists.size());
    for (std::size_t i = 0; i < lists; ++i) list(i);
    if (lists < p_.lists.size()) out_ << "... " << p_.lists.size() << " lists\n";
    for (const Phase& ph : p_.phases) phase(ph);
    return out_.str();
  }

 private:
  std::size_t shown(std::size_t count) const { return full_ ? count : std::min(count, kShownEntries); }

  void buffer(const Buffer& b) {
    out_ << "buffer " << nameText(b.name) << (b.kept ? " kept " : " ") << toString(b.use)
         << (b.element == Element::kF32 ? "" : std::string(" ") + toString(b.element)) << " " << b.bytes;
    std::size_t printed = 0;
    for (std::size_t i = 0; i < b.values.size() && printed < shown(b.values.size()); ++printed) {
      const std::string text = floatText(b.values[i]);
      std::size_t end = i + 1;
      while (end < b.values.size() && floatText(b.values[end]) == text) ++end;
      out_ << (i == 0 ? " = " : " ") << text;
      if (end - i > 1) out_ << " x" << end - i;
      i = end;
      if (i < b.values.size() && printed + 1 == shown(b.values.size()) && !full_) out_ << " ...";
    }
    out_ << "\n";
  }

  void list(std::size_t index) {
    out_ << "l" << index;
    for (const std::vector<Segment>& section : p_.lists[index]) {
      out_ << " s:";
      const std::size_t told =
          eachRun(section, 2, shown(section.size()), [&](const Segment& s, const std::string& more) {
            out_ << " (a" << signedText(s.aOffset) << " b" << signedText(s.bOffset) << " x" << s.outer << more << ")";
          });
      if (told < section.size()) out_ << " ... " << section.size() << " in all";
    }
    out_ << "\n";
  }

  const Axis& axisOf(int a) const { return phase_->axes[static_cast<std::size_t>(a)]; }

  void phase(const Phase& ph) {
    const PartNames streams(ph.streams), axes(ph.axes);
    phase_ = &ph, streams_ = &streams, axes_ = &axes;
    out_ << "\nphase " << nameText(ph.name);
    if (ph.workCycles != 0) out_ << " cycles " << floatText(ph.workCycles);
    out_ << "\n";
    for (const Stream& s : ph.streams) {
      out_ << "  stream " << nameText(s.name) << " = " << names_.buffers.text(s.buffer)
           << (s.offset == 0 ? "" : signedText(s.offset)) << "\n";
    }
    for (const Axis& a : ph.axes) axis(a);
    for (std::size_t a = 0; a < ph.axes.size(); ++a) windows(static_cast<int>(a));
    if (!ph.parallelAxes.empty()) out_ << "  parallel" << named(ph.parallelAxes) << "\n";
    nodes(ph.body, 1);
  }

  std::string named(const std::vector<int>& axes) const {
    std::string text;
    for (const int a : axes) text += " " + axes_->text(a);
    return text;
  }

  // Bytes a step moves each stream by; streams that stay are left out.
  std::string deltas(const std::vector<std::int64_t>& values) const {
    std::string text;
    for (std::size_t s = 0; s < values.size(); ++s) {
      if (values[s] != 0) text += " " + streams_->text(static_cast<int>(s)) + signedText(values[s]);
    }
    return text;
  }

  std::string text(const AxisStep& step, bool classes) const {
    std::string text = classes || step.cls != 0 ? std::string(" ") + kClassWord + " " + std::to_string(step.cls) : "";
    text += deltas(step.delta);
    if (text.empty()) text = " +0";
    const std::string inside = deltas(step.repeatDelta);
    if (step.repeat != 1 || !inside.empty()) text += " inside " + std::to_string(step.repeat) + ":" + inside;
    return text;
  }

  // A few runs stand in one line.
  void axis(const Axis& a) {
    out_ << "  axis " << nameText(a.name);
    if (a.classes != 1) out_ << " classes " << a.classes;
    out_ << (a.steps.empty() ? "" : ":");
    std::vector<std::string> runs;
    const auto far = [&](const StepDistance& d) {
      return (d.cls == 0 ? "" : std::string(" ") + kClassWord + signedText(d.cls)) + deltas(d.delta);
    };
    const std::size_t told = eachRun(
        a.steps, a.classes > 1 ? kLeastOfClasses : 1, shown(a.steps.size()), far,
        [&](const AxisStep& step, const std::string& more) { runs.push_back(text(step, a.classes > 1) + more); });
    if (told < a.steps.size()) runs.push_back(" ... " + std::to_string(a.steps.size() - told) + " more");
    const char* between = runs.size() <= kShownEntries ? " |" : "\n    |";
    for (const std::string& run : runs) out_ << (&run == runs.data() ? "" : between) << run;
    out_ << "\n";
  }

  void windows(int index) {
    const Axis& a = axisOf(index);
    if (a.windowAxis == -1 && a.windows.empty()) return;
    out_ << "  windows " << axes_->text(index) << " by " << axes_->text(a.windowAxis) << (a.windows.empty() ? "" : ":");
    const std::size_t told =
        eachRun(a.windows, 2, shown(a.windows.size()), [&](const Window& w, const std::string& more) {
          out_ << (&w == a.windows.data() ? " " : " | ") << w.begin << ".." << w.end << more;
        });
    if (told < a.windows.size()) out_ << " ... " << a.windows.size() << " windows";
    out_ << "\n";
  }

  static std::string margin(int depth) { return std::string(static_cast<std::size_t>(depth) * 2, ' '); }

  void nodes(const std::vector<Node>& body, int depth) {
    for (const Node& node : body) {
      out_ << margin(depth);
      if (node.isCall()) {
        call(node.call, depth);
      } else if (node.axis < 0) {
        out_ << "choose by" << named(node.classAxes) << "\n";
        rows(node.classAxes, node.windows, depth + 1, text(Window{}));
        nodes(node.body, depth + 1);
      } else {
        out_ << "for " << axes_->text(node.axis) << "\n";
        nodes(node.body, depth + 1);
      }
    }
  }

  std::string text(const UnitFlag& f) const {
    return std::string(kFlagWords[static_cast<int>(f.kind)]) + " " + names_.queues.text(f.from) + " " +
           names_.queues.text(f.to) + " " + std::to_string(f.id);
  }

  static std::string text(const Window& w) {
    return w == Window{} ? "-" : std::to_string(w.begin) + ".." + std::to_string(w.end);
  }

  static std::string text(const Variant& v) {
    if (v == Variant{}) return "-";
    return (v.kernel < 0 ? "-" : "k" + std::to_string(v.kernel)) + (v.list < 0 ? "" : " l" + std::to_string(v.list)) +
           (v.accumulate ? " acc" : "") + (v.aligned < 0 ? "" : " aligned k" + std::to_string(v.aligned));
  }

  // What there is for each combination of the axes' classes, but for rows of nothing: a row for all classes of one axis.
  template <class T>
  void rows(const std::vector<int>& classAxes, const std::vector<T>& entries, int depth, const std::string& nothing) {
    const ClassRows shape(phase_->axes, classAxes);
    std::size_t told = 0, left = 0;
    for (std::size_t row = 0; row < shape.rows(); ++row) {
      std::vector<T> cells;
      for (std::size_t cell = 0; cell < shape.width(); ++cell) {
        const std::size_t number = shape.number(row, cell);
        if (number < entries.size()) cells.push_back(entries[number]);
      }
      if (std::all_of(cells.begin(), cells.end(), [&](const T& cell) { return text(cell) == nothing; })) continue;
      if (!full_ && told == kShownEntries) {
        ++left;
        continue;
      }
      ++told;
      out_ << margin(depth) << shape.text(row) << "=";
      eachRun(cells, 2, cells.size(), [&](const T& cell, const std::string& more) {
        out_ << (&cell == cells.data() ? " " : " | ") << text(cell) << more;
      });
      out_ << "\n";
    }
    if (left > 0) out_ << margin(depth) << "... " << left << " more\n";
  }

  std::string operand(int stream, std::int64_t offset, std::int64_t each) const {
    return (stream == -1 ? "-" : streams_->text(stream)) +
           (offset == 0 ? "" : (stream == -1 ? " " : "") + signedText(offset)) +
           (each == 0 ? "" : " each" + signedText(each));
  }

  void call(const Call& c, int depth) {
    const std::array<int, 4> streams = streamsOf(c);
    out_ << "call " << nameText(c.name) << "(";
    for (std::size_t s = 0; s < streams.size(); ++s) {
      const std::string text = operand(streams[s], c.place.offset[s], c.place.repeatStep[s]);
      if (s < 3 || text != "-") out_ << (s == 0 ? "" : ", ") << text;
    }
    out_ << ")";
    if (c.place.repeat != 1) out_ << " repeat " << c.place.repeat;
    if (c.unit != -1) out_ << " unit " << names_.units.text(c.unit);
    if (c.issues) out_ << " issues";
    for (const UnitFlag& flag : c.flags) out_ << (&flag == &c.flags.front() ? " flags " : ", ") << text(flag);
    if (c.classAxes.empty()) {
      out_ << " = " << (c.variants.empty() ? "-" : text(c.variants[0])) << "\n";
      return;
    }
    out_ << " by" << named(c.classAxes) << "\n";
    rows(c.classAxes, c.variants, depth + 1, "-");
  }

  const TileProgram& p_;
  const bool full_;
  const ProgramNames names_;
  const Phase* phase_ = nullptr;
  const PartNames *streams_ = nullptr, *axes_ = nullptr;
  TextStream out_;
};

}  // namespace

std::string print(const TileProgram& program, Detail detail) { return Printer(program, detail).run(); }

}  // namespace cubejit
