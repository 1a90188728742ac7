// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how lines become buffers, lists and phases; leaves kernels to tile/parse_kernel and what is in a phase to tile/parse_phase.
#include "codegen/tile/parse.h"

#include <limits>

#include "codegen/tile/parse_kernel.h"
#include "codegen/tile/parse_phase.h"
#include "codegen/tile/print.h"
#include "codegen/tile/run_text.h"

namespace cubejit {
namespace {

class TileParser {
 public:
  explicit TileParser(std::string_view text) : in_(text, Stage::kTile, TextReader::Semicolon::kComment) {}

  Result<TileProgram> run() {
    expectVersion(in_, "tile", kTileTextVersion);
    in_.expect("program");
    p_.name = in_.name("the program's name");
    in_.nextLine();
    while (in_.take("buffer")) buffer();
    while (in_.take("queue")) queue();
    while (in_.take("unit")) unit();
    if (in_.take("residual")) residual();
    while (in_.atNumbered("k")) kernel();
    while (in_.atNumbered("l")) list();
    while (in_.take("phase")) p_.phases.push_back(readPhase(in_, names_));
    if (!in_.endOfLine()) in_.failExpecting("buffers, queues, units, a residual, kernels, lists, then phases");
    if (in_.failed()) return in_.error();
    return std::move(p_);
  }

 private:
  void buffer() {
    Buffer& b = p_.buffers.emplace_back();
    b.name = in_.name("the buffer's name");
    names_.buffers.add(b.name);
    b.kept = in_.take("kept");
    b.use = use();
    for (const Element element : {Element::kF16, Element::kBf16, Element::kI8, Element::kI32}) {
      if (in_.take(toString(element))) b.element = element;
    }
    b.bytes = in_.integerOf<std::int64_t>("its size in bytes");
    if (in_.takeSymbol("=")) {
      while (!in_.endOfLine()) value(b.values);
    }
    in_.nextLine();
  }

  Buffer::Use use() {
    std::string known;
    for (int u = 0; u <= static_cast<int>(Buffer::Use::kConstant); ++u) {
      const auto use = static_cast<Buffer::Use>(u);
      if (in_.take(toString(use))) return use;
      known += (known.empty() ? "one of " : ", ") + std::string(toString(use));
    }
    in_.failExpecting(known);
    return {};
  }

  void value(std::vector<float>& values) {
    const float value = in_.real("a value");
    const std::int64_t times = in_.atNumbered("x") ? in_.numbered("x", 1, TextReader::kMostItems, "how often, xN") : 1;
    in_.claim(times);
    if (!in_.failed()) values.insert(values.end(), static_cast<std::size_t>(times), value);
  }

  void queue() {
    names_.queues.add(p_.queues.emplace_back(in_.name("the queue's name")));
    in_.nextLine();
  }

  void unit() {
    MachineUnit& unit = p_.units.emplace_back();
    unit.name = in_.name("the unit's name");
    names_.units.add(unit.name);
    in_.expect("in");
    unit.queue = names_.queues.read(in_, "a queue");
    in_.nextLine();
  }

  void residual() {
    p_.residual.result = names_.buffers.read(in_, "a buffer");
    in_.expect("adds");
    p_.residual.addend = names_.buffers.read(in_, "a buffer");
    in_.nextLine();
  }

  void kernel() {
    const auto next = static_cast<std::int64_t>(p_.kernels.size());
    in_.numbered("k", next, next, "the next kernel");
    p_.kernels.push_back(readKernel(in_));
  }

  void list() {
    const auto next = static_cast<std::int64_t>(p_.lists.size());
    in_.numbered("l", next, next, "the next list");
    SegmentList& list = p_.lists.emplace_back();
    while (in_.take("s")) {
      in_.expectSymbol(":");
      auto& segments = list.emplace_back();
      while (in_.takeSymbol("(")) segment(segments);
    }
    in_.nextLine();
  }

  void segment(std::vector<Segment>& segments) {
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                           kMost = std::numeric_limits<std::int64_t>::max();
    Segment& s = segments.emplace_back();
    in_.expect("a");
    s.aOffset = in_.signedInteger(kLeast, kMost, "an offset in bytes with its sign");
    in_.expect("b");
    s.bOffset = in_.signedInteger(kLeast, kMost, "an offset in bytes with its sign");
    s.outer = in_.numbered("x", 0, kMost, "how often, xN");
    readRepeats(in_, segments, 1);
    in_.expectSymbol(")");
  }

  TextReader in_;
  TileProgram p_;
  ProgramNames names_;
};

}  // namespace

Result<TileProgram> parseTileProgram(std::string_view text) { return TileParser(text).run(); }

}  // namespace cubejit
