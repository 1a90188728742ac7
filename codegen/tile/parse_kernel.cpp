// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how lines become a tile instruction; the words of fields are those of tile/kernel_fields.h.
#include "codegen/tile/parse_kernel.h"

#include <limits>
#include <type_traits>
#include <utility>

#include "codegen/tile/kernel_fields.h"
#include "codegen/tile/run_text.h"

namespace cubejit {
namespace {

constexpr std::int64_t kMost16 = std::numeric_limits<std::int16_t>::max();

template <class T>
void readWordOf(TextReader& in, T& value, int values) {
  std::string known;
  for (int v = 0; v < values; ++v) {
    const char* word = toString(static_cast<T>(v));
    if (*word == 0) continue;
    if (in.take(word)) {
      value = static_cast<T>(v);
      return;
    }
    known += (known.empty() ? "one of " : ", ") + std::string(word);
  }
  in.failExpecting(known);
}

template <class T>
void readValue(TextReader& in, T& value) {
  value = in.integerOf<T>("a number");
}
void readValue(TextReader& /*in*/, bool& value) { value = true; }
void readValue(TextReader& in, std::optional<ListSteps>& value) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  value.emplace();
  value->a = in.signedInteger(kLeast, kMost, "the bytes from one source to the next, with their sign");
  value->c = in.signedInteger(kLeast, kMost, "the bytes from one destination to the next, with their sign");
}
void readValue(TextReader& in, Element& value) { readWordOf(in, value, kElements); }
void readValue(TextReader& in, Products& value) { value = in.take("i8") ? Products::kQuads : Products::kPairs; }
void readValue(TextReader& in, Combine& value) { readWordOf(in, value, kCombines); }
ExpressionValue readExpressionValue(TextReader& in) {
  if (in.take("v")) return ExpressionValue::element();
  if (in.take("d")) return ExpressionValue::d();
  if (in.take("b")) return ExpressionValue::b();
  if (in.take("e")) return ExpressionValue::e();
  if (in.atNumbered("t"))
    return ExpressionValue::step(static_cast<std::size_t>(in.numbered("t", 0, kMost16, "a step, tN")));
  if (in.atNumbered("w"))
    return ExpressionValue::bits(static_cast<std::uint32_t>(
        in.numbered("w", 0, std::numeric_limits<std::uint32_t>::max(), "a word of bits, wN")));
  return ExpressionValue::constant(in.real("v, d, b, e, a step, tN, a word, wN, or a number"));
}
// Up to what begins with no operation's word.
void readValue(TextReader& in, Expression& f) {
  for (bool more = true; more;) {
    more = false;
    for (int op = 0; op < kExpressionOps && !more; ++op) {
      ExpressionStep step{static_cast<ExpressionOp>(op), {}};
      if (!in.take(toString(step.op))) continue;
      in.claim(1);
      for (std::size_t i = 0; i < arity(step.op); ++i) {
        in.expectSymbol(i == 0 ? "(" : ",");
        step.operands[i] = readExpressionValue(in);
      }
      in.expectSymbol(")");
      f.steps.push_back(step);
      more = !in.failed();
    }
  }
  if (!f.any()) in.failExpecting("an operation, add(v, d) for instance");
}

template <class K>
bool readField(TextReader& in, K& kernel) {
  const auto one = [&](const auto& field) {
    if constexpr (std::is_invocable_v<decltype(field.get), K&>) {
      if (!in.take(field.word)) return false;
      readValue(in, field.get(kernel));
      return true;
    }
    return false;
  };
  return std::apply([&](const auto&... field) { return (one(field) || ...); }, kKernelFields);
}

template <class K>
void readFields(TextReader& in, K& kernel) {
  kernel.label = in.name("the kernel's label");
  while (!in.endOfLine()) {
    if (!readField(in, kernel)) in.failExpecting("a field of the kernel or the end of the line");
  }
}

LaneRange readLanes(TextReader& in) {
  LaneRange r;
  if (!in.takeSymbol("[")) return r;
  r.lo = in.integerOf<std::int16_t>("the first lane");
  in.expectSymbol("..");
  r.hi = in.integerOf<std::int16_t>("the lane behind the last");
  in.expectSymbol(")");
  return r;
}

template <class T>
void readOffset(TextReader& in, const char* base, T& offset) {
  in.expect(base);
  offset = static_cast<T>(in.signedInteger(std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                                           "an offset in bytes with its sign"));
}

bool readKind(TextReader& in, AKind& kind) {
  static constexpr const char* kWords[kAKinds] = {"bcast", "vector", "perm", "perm2", "one"};
  for (int k = 0; k < kAKinds; ++k) {
    if (!in.take(kWords[k])) continue;
    kind = static_cast<AKind>(k);
    return true;
  }
  return false;
}

void readUses(TextReader& in, std::vector<Use>& uses) {
  while (in.atNumbered("acc")) {
    Use& use = uses.emplace_back();
    use.acc = static_cast<std::int16_t>(in.numbered("acc", 0, kMost16, "an accumulator, accN"));
    in.expectSymbol("*");
    use.b = static_cast<std::int16_t>(in.numbered("b", 0, kMost16, "a vector of b, bN"));
    readRepeats(in, uses, 1);
  }
}

// Repetitions of what is told further on.
template <class T>
std::vector<Repetition<Distance>> repetitionsOf(TextReader& in, const T* type) {
  std::vector<Repetition<Distance>> repetitions;
  while (in.takeSymbol(","))
    repetitions.push_back(readRepetition(in, [&] { return readDistance(in, distanceWords(type)); }));
  return repetitions;
}

template <class T>
void append(TextReader& in, std::vector<T>& entries, std::size_t size, const std::vector<Repetition<Distance>>& all) {
  for (const Repetition<Distance>& r : all) repeatLast(in, entries, 1 + static_cast<std::int64_t>(size), r);
}

// False if the line is no operand.
bool readOperand(TextReader& in, std::vector<AOperand>& operands) {
  AOperand a;
  if (!readKind(in, a.kind)) return false;
  if (a.kind == AKind::kPermute || a.kind == AKind::kPermute2)
    a.table = static_cast<std::int16_t>(in.numbered("t", 0, kMost16, "a table, tN"));
  if (a.kind != AKind::kOne) {
    readOffset(in, "a", a.offset);
    a.lanes = readLanes(in);
  }
  if (a.kind == AKind::kPermute2) {
    readOffset(in, "a", a.offset2);
    a.lanes2 = readLanes(in);
  }
  const auto repetitions = repetitionsOf(in, &a);
  in.expectSymbol("->");
  a.useLanes = readLanes(in);
  readUses(in, a.uses);
  const std::size_t size = a.uses.size();
  operands.push_back(std::move(a));
  append(in, operands, size, repetitions);
  return true;
}

// The step's own line, then its loads and operands, which repetitions repeat; true if there is a line behind them.
bool readStep(TextReader& in, std::vector<Step>& steps) {
  Step& step = steps.emplace_back();
  step.firstMembers = in.take("first_members");
  if (in.take("prefetch_ahead")) step.prefetchAhead = in.integerOf<std::int32_t>("a number of bytes");
  if (in.take("prefetch_b")) step.prefetchB = in.integerOf<std::int32_t>("a number of bytes");
  const auto repetitions = repetitionsOf(in, &step);
  bool more = in.nextLine();
  for (; more; more = in.nextLine()) {
    if (in.take("load")) {
      VectorLoad& load = step.b.emplace_back();
      readOffset(in, "b", load.offset);
      load.lanes = readLanes(in);
      readRepeats(in, step.b, 1);
    } else if (!readOperand(in, step.a)) {
      break;
    }
  }
  std::size_t size = step.b.size() + step.a.size();
  for (const AOperand& a : step.a) size += a.uses.size();
  append(in, steps, size, repetitions);
  return more;
}

bool readSection(TextReader& in, Section& section) {
  readOffset(in, "a", section.aOuterStep);
  readOffset(in, "b", section.bOuterStep);
  bool more = in.nextLine();
  while (more && in.take("step")) more = readStep(in, section.steps);
  return more;
}

void readParts(TextReader& in, Contract& c) {
  bool more = in.nextLine();
  while (more) {
    if (in.take("acc")) {
      Accumulator& acc = c.accumulators.emplace_back();
      readOffset(in, "c", acc.cOffset);
      acc.lanes = readLanes(in);
      if (in.peekWord() == "d") readOffset(in, "d", acc.dOffset);
      if (in.take("sums")) acc.sums = readLanes(in);
      readRepeats(in, c.accumulators, 1);
      more = in.nextLine();
    } else if (in.take("table")) {
      auto& table = c.tables.emplace_back();
      while (!in.endOfLine()) table.push_back(in.integerOf<std::int32_t>("a lane"));
      more = in.nextLine();
    } else if (in.take("section")) {
      more = readSection(in, c.sections.emplace_back());
    } else {
      return;
    }
  }
}

template <std::size_t I>
bool readKernelOf(TextReader& in, Kernel& kernel) {
  if (!in.take(kKernelWords[I])) return false;
  auto& made = kernel.emplace<I>();
  readFields(in, made);
  if constexpr (std::is_same_v<std::variant_alternative_t<I, Kernel>, Contract>)
    readParts(in, made);
  else
    in.nextLine();
  return true;
}

}  // namespace

Kernel readKernel(TextReader& in) {
  Kernel kernel;
  const bool read = [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
    return (readKernelOf<I>(in, kernel) || ...);
  }(std::make_index_sequence<std::variant_size_v<Kernel>>());
  std::string known;
  for (const char* word : kKernelWords) known += (known.empty() ? "one of " : ", ") + std::string(word);
  if (!read) in.failExpecting(known);
  return kernel;
}

}  // namespace cubejit
