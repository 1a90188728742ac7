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

/// Operations on f32, lane by lane. Comparisons with NaN are false. `arity` operands are read: x, y, z.
enum class ExpressionOp : std::uint8_t {
  kAdd,        ///< x + y
  kMul,        ///< x * y
  kMin,        ///< x < y ? x : y
  kMax,        ///< x > y ? x : y
  kAbs,        ///< x without its sign
  kSelectGt0,  ///< x > 0 ? y : z
  kSelectLe0   ///< x <= 0 ? y : z
};
inline constexpr int kExpressionOps = 7;
constexpr const char* toString(ExpressionOp op) {
  constexpr const char* kWords[] = {"add", "mul", "min", "max", "abs", "select_gt0", "select_le0"};
  return kWords[static_cast<std::size_t>(op)];
}
constexpr std::size_t arity(ExpressionOp op) {
  return op == ExpressionOp::kAbs ? 1 : op < ExpressionOp::kSelectGt0 ? 2 : 3;
}

/// What an operation reads.
struct ExpressionValue {
  enum class Kind : std::uint8_t {
    kElement,  ///< v: the element itself, a Contract's finished sum
    kD,        ///< d: what operand D leads to
    kE,     ///< e: what lies where the element is stored, in the buffer that the program names (TileProgram::residual)
    kStep,  ///< tN: what step N gave
    kConstant,  ///< a number
  };
  Kind kind = Kind::kElement;
  std::uint32_t word = 0;  ///< kStep: N; kConstant: the number's bits
  static constexpr ExpressionValue element() { return {}; }
  static constexpr ExpressionValue d() { return {Kind::kD, 0}; }
  static constexpr ExpressionValue e() { return {Kind::kE, 0}; }
  static constexpr ExpressionValue step(std::size_t n) { return {Kind::kStep, static_cast<std::uint32_t>(n)}; }
  static constexpr ExpressionValue constant(float value) {
    return {Kind::kConstant, std::bit_cast<std::uint32_t>(value)};
  }
  friend bool operator==(const ExpressionValue& x, const ExpressionValue& y) = default;
};

struct ExpressionStep {
  ExpressionOp op = ExpressionOp::kAdd;
  std::array<ExpressionValue, 3> operands{};  ///< those beyond the operation's arity are v
  friend bool operator==(const ExpressionStep& x, const ExpressionStep& y) = default;
};

/// f(v, d, e), rounded after each step; what the last step gave, v if there is none.
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
  bool readsE() const { return reads(ExpressionValue::Kind::kE); }
  /// Appends a step; the value that it gives.
  ExpressionValue then(ExpressionOp op, ExpressionValue x, ExpressionValue y = {}, ExpressionValue z = {}) {
    steps.push_back({op, {x, y, z}});
    return ExpressionValue::step(steps.size() - 1);
  }
  /// Precondition: steps read earlier steps only.
  float evaluate(float v, float d, float e) const;
  friend bool operator==(const Expression& x, const Expression& y) = default;
};

}  // namespace cubejit
