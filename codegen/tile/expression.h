// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a program may make of elements before they are stored: a vector expression, which whoever makes the program attaches to a
// Contract (its epilogue) or to a Map.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace cubejit {

/// Operations on f32, lane by lane; or on its bits. Comparisons with NaN are false. `arity` operands are read: x, y, z.
enum class ExpressionOp : std::uint8_t {
  kAdd,     ///< x + y
  kSub,     ///< x - y
  kMul,     ///< x * y
  kFma,     ///< x * y + z, rounded once
  kDot,     ///< pairs of bf16 in x times those in y, plus z (dotPairs(), element.h); where the ISA has the instruction
  kDiv,     ///< x / y
  kSqrt,    ///< square root of x
  kScale,   ///< x * 2^y, rounded once; y is an integer from -252 to 254, and x * 2^(y/2) no denormal number
  kMin,     ///< x < y ? x : y
  kMax,     ///< x > y ? x : y
  kAbs,     ///< x without its sign
  kRound,   ///< the integer nearest to x, the even one of two
  kFloor,   ///< the largest integer not above x
  kEqual,   ///< all bits if x = y, else none
  kLess,    ///< all bits if x < y, else none
  kAtMost,  ///< all bits if x <= y, else none
  kSelect,  ///< the bits of y that are set in x, and those of z that are not
  kSelectGt0,   ///< x > 0 ? y : z
  kSelectLe0,   ///< x <= 0 ? y : z
  kAnd,         ///< bits of both
  kOr,          ///< bits of either
  kXor,         ///< bits of one alone
  kAddInt,      ///< x + y as integers, modulo 2^32
  kShiftLeft,   ///< bits of x moved up by y, a word below 32
  kShiftRight,  ///< bits of x moved down, zeros from above
};
inline constexpr int kExpressionOps = 25;
constexpr const char* toString(ExpressionOp op) {
  constexpr const char* kWords[] = {"add",   "sub",     "mul",        "fma",        "dot",        "div",   "sqrt",
                                    "scale", "min",     "max",        "abs",        "round",      "floor", "equal",
                                    "less",  "at_most", "select",     "select_gt0", "select_le0", "and",   "or",
                                    "xor",   "add_int", "shift_left", "shift_right"};
  return kWords[static_cast<std::size_t>(op)];
}
constexpr std::size_t arity(ExpressionOp op) {
  switch (op) {
    case ExpressionOp::kSqrt:
    case ExpressionOp::kAbs:
    case ExpressionOp::kRound:
    case ExpressionOp::kFloor: return 1;
    case ExpressionOp::kFma:
    case ExpressionOp::kDot:
    case ExpressionOp::kSelect:
    case ExpressionOp::kSelectGt0:
    case ExpressionOp::kSelectLe0: return 3;
    default: return 2;
  }
}
constexpr bool shifts(ExpressionOp op) { return op == ExpressionOp::kShiftLeft || op == ExpressionOp::kShiftRight; }

/// What an operation reads.
struct ExpressionValue {
  enum class Kind : std::uint8_t {
    kElement,  ///< v: the element itself, a Contract's finished sum
    kD,        ///< d: what operand D leads to
    kB,        ///< b: what operand B of a Map leads to
    kE,     ///< e: what lies where the element is stored, in the buffer that the program names (TileProgram::residual)
    kStep,  ///< tN: what step N gave
    kConstant,  ///< a number
    kWord,      ///< wN: the bits of N
  };
  Kind kind = Kind::kElement;
  std::uint32_t word = 0;  ///< kStep, kWord: N; kConstant: the number's bits
  static constexpr ExpressionValue element() { return {}; }
  static constexpr ExpressionValue d() { return {Kind::kD, 0}; }
  static constexpr ExpressionValue b() { return {Kind::kB, 0}; }
  static constexpr ExpressionValue e() { return {Kind::kE, 0}; }
  static constexpr ExpressionValue step(std::size_t n) { return {Kind::kStep, static_cast<std::uint32_t>(n)}; }
  static constexpr ExpressionValue constant(float value) {
    return {Kind::kConstant, std::bit_cast<std::uint32_t>(value)};
  }
  static constexpr ExpressionValue bits(std::uint32_t word) { return {Kind::kWord, word}; }
  friend bool operator==(const ExpressionValue& x, const ExpressionValue& y) = default;
};

struct ExpressionStep {
  ExpressionOp op = ExpressionOp::kAdd;
  std::array<ExpressionValue, 3> operands{};  ///< those beyond the operation's arity are v
  friend bool operator==(const ExpressionStep& x, const ExpressionStep& y) = default;
};

/// f(v, d, b, e), rounded after each step, unless it is of bits; what the last step gave, v if there is none.
struct Expression {
  std::vector<ExpressionStep> steps;

  bool any() const { return !steps.empty(); }
  bool reads(ExpressionValue::Kind kind) const {
    for (const ExpressionStep& step : steps) {
      for (std::size_t i = 0; i < arity(step.op); ++i) {
        if (step.operands[i].kind == kind) return true;
      }
    }
    return false;
  }
  bool readsD() const { return reads(ExpressionValue::Kind::kD); }
  bool readsB() const { return reads(ExpressionValue::Kind::kB); }
  bool readsE() const { return reads(ExpressionValue::Kind::kE); }
  /// Appends a step; the value that it gives.
  ExpressionValue then(ExpressionOp op, ExpressionValue x, ExpressionValue y = {}, ExpressionValue z = {}) {
    steps.push_back({op, {x, y, z}});
    return ExpressionValue::step(steps.size() - 1);
  }
  /// Precondition: steps read earlier steps only.
  float evaluate(float v, float d, float b, float e) const;
  friend bool operator==(const Expression& x, const Expression& y) = default;
};

}  // namespace cubejit
