// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a line becomes an instruction: the op's row says which operands follow.
#include "codegen/vector/parse.h"

#include <limits>
#include <unordered_map>

#include "codegen/text/reader.h"
#include "codegen/vector/text.h"

namespace cubejit {
namespace {

constexpr std::int64_t kLastRegister = std::numeric_limits<std::int8_t>::max();

class OperandParser {
 public:
  OperandParser(TextReader& in, const OpRow& row) : in_(in), row_(row) {}

  void reg(OperandKind kind, std::int8_t& number) {
    separate();
    const char letter[] = {registerLetter(kind), 0};
    number =
        static_cast<std::int8_t>(in_.numbered(letter, 0, kLastRegister, "a register, " + std::string(letter) + "N"));
  }
  void mask(std::int8_t& number) {
    if (row_.mask == MaskUse::N || !in_.takeSymbol("{")) return;
    number = static_cast<std::int8_t>(in_.numbered("k", 0, kLastRegister, "a mask, kN"));
    in_.expectSymbol("}");
  }
  void memory(Mem& mem) {
    separate();
    in_.expectSymbol("[");
    mem.base = static_cast<std::int8_t>(in_.numbered("s", 0, kLastRegister, "a register, sN"));
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (in_.takeSymbol("+"))
      mem.disp = static_cast<std::int32_t>(in_.integer(0, kMost, "an offset"));
    else if (in_.takeSymbol("-"))
      mem.disp = static_cast<std::int32_t>(-in_.integer(0, kMost + 1, "an offset"));
    in_.expectSymbol("]");
  }
  void immediate(ImmKind kind, std::int64_t& imm) {
    separate();
    switch (kind) {
      case ImmKind::A: imm = argument(); break;
      case ImmKind::C: imm = in_.numbered("c", 0, std::numeric_limits<int>::max(), "a constant, cN"); break;
      case ImmKind::L: imm = lanes(); break;
      case ImmKind::I:
      case ImmKind::N: imm = in_.integerOf<std::int64_t>("a number"); break;
    }
  }

 private:
  void separate() {
    if (!first_) in_.expectSymbol(",");
    first_ = false;
  }
  std::int64_t argument() {
    for (int slot = 0; slot < kArgSlots; ++slot) {
      if (in_.take(kArgNames[slot])) return slot;
    }
    in_.failExpecting("an argument of kernels");
    return 0;
  }
  std::int64_t lanes() {
    in_.expectSymbol("[");
    const std::int64_t lo = in_.integer(0, 255, "the first lane");
    in_.expectSymbol("..");
    const std::int64_t hi = in_.integer(0, 255, "the lane behind the last");
    in_.expectSymbol(")");
    return lo | hi << 8;
  }

  TextReader& in_;
  const OpRow& row_;
  bool first_ = true;
};

class VectorParser {
 public:
  explicit VectorParser(std::string_view text) : in_(text, Stage::kVector, TextReader::Semicolon::kToken) {
    for (std::size_t op = 0; op < kOpCount; ++op) ops_.emplace(kOpRows[op].text, static_cast<VOp>(op));
  }

  Result<VectorProgram> run() {
    expectVersion(in_, "vector", kVectorTextVersion);
    header();
    for (bool more = in_.nextLine(); more; more = in_.nextLine()) line();
    if (in_.failed()) return in_.error();
    return std::move(p_);
  }

 private:
  void header() {
    p_.name = in_.name("the program's name");
    in_.expect("for");
    p_.isa = isaOf(level());
    while (!in_.endOfLine()) {
      const bool known = std::apply([&](const auto&... field) { return (isaField(field) || ...); }, kIsaFields);
      if (!known) in_.failExpecting("the end of the line, or what the ISA has");
    }
  }

  IsaLevel level() {
    std::string names;
    for (const IsaLevel level : kAllIsaLevels) {
      if (in_.take(toString(level))) return level;
      names += (names.empty() ? "" : ", ") + std::string(toString(level));
    }
    in_.failExpecting("one of " + names);
    return {};
  }

  template <class Field>
  bool isaField(const Field& field) {
    if (!in_.take(field.first)) return false;
    auto& value = p_.isa.*field.second;
    using T = std::decay_t<decltype(value)>;
    value = static_cast<T>(in_.integer(0, std::numeric_limits<T>::max(), "a number"));
    return true;
  }

  void line() {
    if (in_.takeSymbol(";"))
      comment();
    else if (in_.atNumbered("c") && p_.code.empty())
      constant();
    else
      instruction();
  }

  void comment() {
    in_.endOfLine();
    const bool quoted = in_.atName() && in_.peekWord().empty();
    p_.comments.emplace_back(static_cast<std::int32_t>(p_.code.size()),
                             quoted ? in_.name("a comment") : in_.restOfLine());
  }

  void constant() {
    const auto next = static_cast<std::int64_t>(p_.constants.size());
    in_.numbered("c", next, next, "the next constant");
    in_.expectSymbol("=");
    auto& words = p_.constants.emplace_back();
    while (!in_.endOfLine()) words.push_back(in_.integerOf<std::int32_t>("a word of 32 bits"));
  }

  void instruction() {
    const auto op = ops_.find(in_.peekWord());
    if (op == ops_.end()) {
      in_.failExpecting("an instruction");
      return;
    }
    in_.expect(op->first);
    VInstr i{.op = op->second};
    visitOperands(i, OperandParser(in_, rowOf(i.op)));
    p_.code.push_back(i);
  }

  TextReader in_;
  std::unordered_map<std::string_view, VOp> ops_;
  VectorProgram p_;
};

}  // namespace

Result<VectorProgram> parseVectorProgram(std::string_view text) { return VectorParser(text).run(); }

}  // namespace cubejit
