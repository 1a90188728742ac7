// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when the parts of a TileProgram fit together, so that walking it never leaves its own arrays.
#include <algorithm>
#include <optional>
#include <set>

#include "codegen/tile/matrix.h"
#include "codegen/tile/rules.h"
#include "codegen/tile/walk.h"

namespace cubejit {
namespace {

std::string range(std::int64_t value, std::size_t limit) {
  return std::to_string(value) + " is not in [0, " + std::to_string(limit) + ")";
}
bool within(std::int64_t value, std::size_t limit) { return value >= 0 && static_cast<std::uint64_t>(value) < limit; }
bool readOnly(Buffer::Use use) { return use == Buffer::Use::kInput || use == Buffer::Use::kConstant; }

class Structure {
 public:
  explicit Structure(const TileProgram& program) : p_(program) {}

  std::vector<std::string> run() {
    for (const Buffer& b : p_.buffers) buffer(b);
    residual();
    for (const Kernel& k : p_.kernels) {
      const std::vector<std::string> broken = kernelRules(k);
      rules_.insert(rules_.end(), broken.begin(), broken.end());
    }
    for (std::size_t k = 1; k < p_.kernels.size(); ++k) {
      require(lanesOf(p_.kernels[k]) == lanesOf(p_.kernels[0]),
              "kernel " + std::to_string(k) + " has vectors of " + std::to_string(lanesOf(p_.kernels[k])) +
                  " lanes, kernel 0 of " + std::to_string(lanesOf(p_.kernels[0])));
    }
    require(p_.queues.size() <= kMostUnitQueues,
            std::to_string(p_.queues.size()) + " queues of units; there may be " + std::to_string(kMostUnitQueues));
    for (const MachineUnit& unit : p_.units) {
      if (!within(unit.queue, p_.queues.size()))
        require(false, "unit " + unit.name + ": queue " + range(unit.queue, p_.queues.size()));
    }
    for (const Phase& ph : p_.phases) phase(ph);
    return std::move(rules_);
  }

 private:
  void require(bool holds, const std::string& rule) {
    if (!holds) rules_.push_back(where_ + rule);
  }

  void buffer(const Buffer& b) {
    if (b.isCallers()) {
      require(!b.name.empty() && names_.insert(b.name).second,
              "two inputs or outputs are called '" + b.name + "', or one has no name");
    }
    require(b.use == Buffer::Use::kInput || !b.kept, "buffer " + b.name + " is kept but not an input");
    require(b.bytes >= 0, "buffer " + b.name + " has " + std::to_string(b.bytes) + " bytes");
    const bool known =
        b.element == Element::kF32 || b.element == Element::kF16 || b.element == Element::kBf16 || isInteger(b.element);
    require(
        known && (b.isCallers() ? b.bytes % elementBytes(b.element) == 0 : b.element == Element::kF32),
        "buffer " + b.name + " has " + std::to_string(b.bytes) + " bytes of " + toString(b.element) +
            "; inputs and outputs have whole elements of f32, f16, bf16, i8 or i32, workspace and constants say f32");
    const auto valueBytes = static_cast<std::int64_t>(b.values.size() * sizeof(float));
    if (b.use == Buffer::Use::kConstant)
      require(valueBytes == b.bytes, "buffer " + b.name + " has " + std::to_string(b.bytes) + " bytes, its values " +
                                         std::to_string(valueBytes));
    else
      require(b.values.empty(), "buffer " + b.name + " has values but is not constant");
  }

  void residual() {
    const auto [result, addend] = p_.residual;
    if (result < 0 && addend < 0) return;
    bool there = true;
    for (const int b : {result, addend}) {
      require(within(b, p_.buffers.size()), "residual: buffer " + range(b, p_.buffers.size()));
      there = there && within(b, p_.buffers.size());
    }
    if (!there) return;
    const Buffer &to = p_.buffers[static_cast<std::size_t>(result)],
                 &from = p_.buffers[static_cast<std::size_t>(addend)];
    require(to.bytes == from.bytes, "residual " + from.name + " has " + std::to_string(from.bytes) + " bytes, " +
                                        to.name + " " + std::to_string(to.bytes));
  }

  void phase(const Phase& ph) {
    phase_ = &ph;
    where_ = "phase " + ph.name + ": ";
    for (const Stream& s : ph.streams)
      require(within(s.buffer, p_.buffers.size()),
              "stream " + s.name + ": buffer " + range(s.buffer, p_.buffers.size()));
    for (const Axis& a : ph.axes) axis(a);
    enclosing_.clear();
    for (const int a : ph.parallelAxes) {
      if (!enter(a, "parallel axis")) continue;
      const Axis& ax = ph.axes[static_cast<std::size_t>(a)];
      require(ax.windowAxis < 0, "axis " + ax.name + " is parallel and has windows");
      require(!repeats(ax), "axis " + ax.name + " is parallel and has steps that repeat");
    }
    for (const Node& node : ph.body) visit(node);
    where_.clear();
  }

  void axis(const Axis& a) {
    require(a.classes >= (a.steps.empty() ? 0 : 1),
            "axis " + a.name + " has " + std::to_string(a.classes) + " classes");
    for (std::size_t i = 0; i < a.steps.size(); ++i) {
      const AxisStep& step = a.steps[i];
      const std::string which = "axis " + a.name + " step " + std::to_string(i) + ": ";
      require(within(step.cls, static_cast<std::size_t>(std::max(0, a.classes))),
              which + "class " + range(step.cls, static_cast<std::size_t>(std::max(0, a.classes))));
      require(step.delta.size() <= phase_->streams.size(), which + std::to_string(step.delta.size()) + " deltas for " +
                                                               std::to_string(phase_->streams.size()) + " streams");
      require(step.repeat >= 1, which + "repeat is " + std::to_string(step.repeat));
      require(step.repeatDelta.size() <= phase_->streams.size(),
              which + std::to_string(step.repeatDelta.size()) + " repeat deltas for " +
                  std::to_string(phase_->streams.size()) + " streams");
    }
    if (a.windowAxis < 0) return;
    if (!within(a.windowAxis, phase_->axes.size())) {
      require(false, "axis " + a.name + ": window axis " + range(a.windowAxis, phase_->axes.size()));
      return;
    }
    const int classes = phase_->axes[static_cast<std::size_t>(a.windowAxis)].classes;
    require(a.windows.size() == static_cast<std::size_t>(classes),
            "axis " + a.name + " has " + std::to_string(a.windows.size()) + " windows for " + std::to_string(classes) +
                " classes");
    for (const Window& w : a.windows) {
      require(w.begin >= 0 && w.begin <= w.end && static_cast<std::size_t>(w.end) <= a.steps.size(),
              "axis " + a.name + ": window [" + std::to_string(w.begin) + ", " + std::to_string(w.end) + ") of " +
                  std::to_string(a.steps.size()) + " steps");
    }
  }

  static bool repeats(const Axis& a) {
    return std::any_of(a.steps.begin(), a.steps.end(), [](const AxisStep& s) { return s.repeat != 1; });
  }
  bool encloses(int axis) const { return std::find(enclosing_.begin(), enclosing_.end(), axis) != enclosing_.end(); }

  // False if the axis cannot be entered; it is not among the enclosing ones then.
  bool enter(int a, const std::string& what) {
    if (!within(a, phase_->axes.size())) {
      require(false, what + " " + range(a, phase_->axes.size()));
      return false;
    }
    const Axis& ax = phase_->axes[static_cast<std::size_t>(a)];
    require(!encloses(a), "axis " + ax.name + " encloses itself");
    if (ax.windowAxis >= 0) require(encloses(ax.windowAxis), "axis " + ax.name + " is not enclosed by its window axis");
    enclosing_.push_back(a);
    return true;
  }

  void visit(const Node& node) {
    if (node.isCall()) {
      call(node.call);
      return;
    }
    if (node.axis < 0) {
      choice(node);
      return;
    }
    if (!enter(node.axis, "loop over axis")) return;
    const Axis& ax = phase_->axes[static_cast<std::size_t>(node.axis)];
    const bool oneCall = node.body.size() == 1 && node.body[0].isCall();
    require(oneCall || !repeats(ax), "axis " + ax.name + " has steps that repeat around more than one call");
    for (const Node& child : node.body) visit(child);
    enclosing_.pop_back();
  }

  // The number of combinations of the axes' classes; nothing if they cannot be counted, which has been said.
  std::optional<std::size_t> combinations(const std::vector<int>& classAxes, const std::string& what) {
    std::size_t product = 1;
    for (std::size_t i = 0; i < classAxes.size(); ++i) {
      const int a = classAxes[i];
      if (!within(a, phase_->axes.size())) {
        require(false, what + ": class axis " + range(a, phase_->axes.size()));
        return std::nullopt;
      }
      const Axis& ax = phase_->axes[static_cast<std::size_t>(a)];
      require(encloses(a), what + ": class axis " + ax.name + " does not enclose it");
      const auto here = classAxes.begin() + static_cast<std::ptrdiff_t>(i);
      require(std::find(classAxes.begin(), here, a) == here, what + ": class axis " + ax.name + " is named twice");
      product *= static_cast<std::size_t>(std::max(0, ax.classes));
    }
    return product;
  }

  void choice(const Node& node) {
    const auto product = combinations(node.classAxes, "choice");
    if (!product) return;
    require(node.windows.size() == *product, "a choice has " + std::to_string(node.windows.size()) + " windows for " +
                                                 std::to_string(*product) + " combinations of classes");
    for (const Window& w : node.windows) {
      require(w.begin >= 0 && w.begin <= w.end && static_cast<std::size_t>(w.end) <= node.body.size(),
              "a choice has the window [" + std::to_string(w.begin) + ", " + std::to_string(w.end) + ") of " +
                  std::to_string(node.body.size()) + " nodes");
    }
    for (const Node& child : node.body) visit(child);
  }

  void call(const Call& c) {
    if (std::any_of(enclosing_.begin(), enclosing_.end(),
                    [&](int a) { return phase_->axes[static_cast<std::size_t>(a)].steps.empty(); }))
      return;  // never made
    const bool copies = c.d >= 0 && !onlyReadsD(c);
    if (copies && !enclosing_.empty()) {
      for (const AxisStep& step : phase_->axes[static_cast<std::size_t>(enclosing_.back())].steps) {
        const auto d = static_cast<std::size_t>(c.d);
        const bool moves = step.repeat > 1 && deltaOf(step.repeatDelta, d) != 0;
        if (moves) once("call " + c.name + ": repetitions move stream d; kernels copy to where it begins");
      }
    }
    const std::array<int, 4> streams = streamsOf(c);
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if (streams[s] < 0 && c.place.offset[s] != 0)
        once("call " + c.name + ": an offset of stream " + "abcd"[s] + ", which it does not have");
    }
    if (c.unit != -1 && !within(c.unit, p_.units.size()))
      once("call " + c.name + ": unit " + range(c.unit, p_.units.size()));
    for (const UnitFlag& flag : c.flags) {
      for (const int queue : {flag.from, flag.to}) {
        if (!within(queue, p_.queues.size()))
          once("call " + c.name + ": a flag's queue " + range(queue, p_.queues.size()));
      }
    }
    if (c.place.repeat < 1) once("call " + c.name + ": repeat is " + std::to_string(c.place.repeat));
    if (c.place.repeat != 1 && !enclosing_.empty() &&
        repeats(phase_->axes[static_cast<std::size_t>(enclosing_.back())]))
      once("call " + c.name + " repeats, and so do steps of the axis around it");
    if (copies && c.place.repeatStep[3] != 0)
      once("call " + c.name + ": repetitions move stream d; kernels copy to where it begins");
    const auto product = combinations(c.classAxes, "call " + c.name);
    if (!product) return;
    require(c.variants.size() == *product, "call " + c.name + " has " + std::to_string(c.variants.size()) +
                                               " variants for " + std::to_string(*product) +
                                               " combinations of classes");
    for (std::size_t v = 0; v < c.variants.size(); ++v)
      variant(c, c.variants[v], "call " + c.name + " variant " + std::to_string(v) + ": ");
  }

  // Whether d, in all variants, is what a contract's epilogue reads.
  bool onlyReadsD(const Call& c) const {
    return std::all_of(c.variants.begin(), c.variants.end(), [&](const Variant& v) {
      if (!within(v.kernel, p_.kernels.size())) return true;
      const auto* contract = std::get_if<Contract>(&p_.kernels[static_cast<std::size_t>(v.kernel)]);
      return contract != nullptr && contract->epilogue.readsD();
    });
  }

  void stream(const Call& c, int s, const char* name, bool needed, bool written) {
    if (s < 0 && !needed) return;
    if (!within(s, phase_->streams.size())) {
      once("call " + c.name + ": stream " + name + " " + range(s, phase_->streams.size()));
      return;
    }
    const int b = phase_->streams[static_cast<std::size_t>(s)].buffer;
    if (!written || !within(b, p_.buffers.size())) return;
    const Buffer& buffer = p_.buffers[static_cast<std::size_t>(b)];
    if (readOnly(buffer.use)) once("call " + c.name + " writes " + buffer.name + ", which is an input");
  }

  // Variants of one call share their streams: what is wrong with those is said once.
  void once(const std::string& rule) {
    if (said_.insert(where_ + rule).second) require(false, rule);
  }

  void variant(const Call& c, const Variant& v, const std::string& which) {
    if (v.kernel == -1) return;
    if (!within(v.kernel, p_.kernels.size())) {
      require(false, which + "kernel " + range(v.kernel, p_.kernels.size()));
      return;
    }
    const Kernel& kernel = p_.kernels[static_cast<std::size_t>(v.kernel)];
    expression(c, kernel, which);
    std::visit(overloaded{[&](const Contract& k) { calls(c, v, k, which); },
                          [&](const TileProduct& k) { calls(c, v, k, which); },
                          [&](const MatrixKernel auto& k) { calls(c, v, k, which); }},
               kernel);
  }

  void calls(const Call& c, const Variant& v, const MatrixKernel auto& move, const std::string& which) {
    stream(c, c.a, "a", readsA(move), false);
    stream(c, c.c, "c", true, true);
    require(!v.accumulate, which + "a move with accumulation");
    if (!listSteps(move)) return require(v.list == -1, which + "a list for a move that takes none");
    require(c.place.repeat == 1 &&
                (enclosing_.empty() || !repeats(phase_->axes[static_cast<std::size_t>(enclosing_.back())])),
            which + "a move with a list repeats");
    list(v.list, 1, "move " + move.label.text, which);
  }
  static bool readsA(const OneOf<Copy, Transpose, Accumulate, LaneReduce> auto&) { return true; }
  static bool readsA(const Fill&) { return false; }
  static bool readsA(const Map& m) { return !m.zeros; }

  void calls(const Call& c, const Variant& v, const Contract& contract, const std::string& which) {
    const bool quads = contract.products == Products::kQuads;
    require(!v.accumulate || (quads ? contract.keepsInts() : contract.result == Element::kF32),
            which + "sums continue in " + toString(contract.result) + " memory; only " + (quads ? "i32" : "f32") +
                " keeps them");
    stream(c, c.a, "a", contract.readsA(), false);
    stream(c, c.b, "b", true, false);
    stream(c, c.c, "c", true, true);
    if (!contract.epilogue.readsD()) stream(c, c.d, "d", contract.copiesB, true);
    if (v.aligned != -1) twin(contract, v.aligned, which);
    list(v.list, contract.sections.size(), "contract " + contract.label.text, which);
  }

  void calls(const Call& c, const Variant& v, const TileProduct& product, const std::string& which) {
    stream(c, c.a, "a", true, false);
    stream(c, c.b, "b", true, false);
    stream(c, c.c, "c", true, true);
    list(v.list, 1, "tile product " + product.label.text, which);
  }

  void expression(const Call& c, const Kernel& kernel, const std::string& which) {
    const Expression* f = expressionOf(kernel);
    if (f == nullptr) return;
    if (f->readsD()) stream(c, c.d, "d", true, false);
    if (f->readsB()) stream(c, c.b, "b", true, false);
    if (!f->readsE() || !within(c.c, phase_->streams.size())) return;
    require(p_.residual.addend >= 0 && phase_->streams[static_cast<std::size_t>(c.c)].buffer == p_.residual.result,
            which + "reads e, but c does not lead to the buffer that the program has a residual for");
  }

  void list(int number, std::size_t sections, const std::string& kernel, const std::string& which) {
    if (!within(number, p_.lists.size())) {
      require(false, which + "list " + range(number, p_.lists.size()));
      return;
    }
    const SegmentList& list = p_.lists[static_cast<std::size_t>(number)];
    require(list.size() == sections, which + "list " + std::to_string(number) + " has " + std::to_string(list.size()) +
                                         " sections, " + kernel + " " + std::to_string(sections));
    for (const auto& section : list) {
      for (const Segment& s : section) {
        if (s.outer < 0)
          once("list " + std::to_string(number) + ": a segment of " + std::to_string(s.outer) + " iterations");
      }
    }
  }

  // What may be called instead is the same contract, but for the way results leave.
  void twin(const Contract& contract, int aligned, const std::string& which) {
    if (!within(aligned, p_.kernels.size())) {
      require(false, which + "aligned kernel " + range(aligned, p_.kernels.size()));
      return;
    }
    const auto* other = std::get_if<Contract>(&p_.kernels[static_cast<std::size_t>(aligned)]);
    Contract plain = other == nullptr ? Contract{} : *other;
    plain.streamingStore = contract.streamingStore;
    plain.prefetchResults = contract.prefetchResults;
    require(other != nullptr && plain == contract,
            which + "aligned kernel " + std::to_string(aligned) + " does not mean the same");
  }

  const TileProgram& p_;
  const Phase* phase_ = nullptr;
  std::string where_;
  std::vector<int> enclosing_;
  std::set<std::string> said_, names_;
  std::vector<std::string> rules_;
};

}  // namespace

std::vector<std::string> structureRules(const TileProgram& program) { return Structure(program).run(); }

}  // namespace cubejit
