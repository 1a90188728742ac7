// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/tile/expression.h"

#include <cmath>

#include "codegen/tile/element.h"

namespace cubejit {
namespace {

using Word = std::uint32_t;

float real(Word word) { return std::bit_cast<float>(word); }
Word word(float value) { return std::bit_cast<Word>(value); }
Word all(bool holds) { return holds ? ~Word{0} : 0; }

Word result(ExpressionOp op, Word x, Word y, Word z) {
  switch (op) {
    case ExpressionOp::kAdd: return word(real(x) + real(y));
    case ExpressionOp::kSub: return word(real(x) - real(y));
    case ExpressionOp::kMul: return word(real(x) * real(y));
    case ExpressionOp::kFma: return word(std::fma(real(x), real(y), real(z)));
    case ExpressionOp::kDot: return word(dotPairs(real(z), x, y));
    case ExpressionOp::kDiv: return word(real(x) / real(y));
    case ExpressionOp::kSqrt: return word(std::sqrt(real(x)));
    case ExpressionOp::kScale: return word(scaledBy(real(x), real(y)));
    case ExpressionOp::kMin: return real(x) < real(y) ? x : y;
    case ExpressionOp::kMax: return real(x) > real(y) ? x : y;
    case ExpressionOp::kAbs: return x & 0x7fffffffU;
    case ExpressionOp::kRound: return word(std::nearbyint(real(x)));
    case ExpressionOp::kFloor: return word(std::floor(real(x)));
    case ExpressionOp::kEqual: return all(real(x) == real(y));
    case ExpressionOp::kLess: return all(real(x) < real(y));
    case ExpressionOp::kAtMost: return all(real(x) <= real(y));
    case ExpressionOp::kSelect: return (x & y) | (~x & z);
    case ExpressionOp::kSelectGt0: return real(x) > 0 ? y : z;
    case ExpressionOp::kSelectLe0: return real(x) <= 0 ? y : z;
    case ExpressionOp::kAnd: return x & y;
    case ExpressionOp::kOr: return x | y;
    case ExpressionOp::kXor: return x ^ y;
    case ExpressionOp::kAddInt: return x + y;
    case ExpressionOp::kShiftLeft: return x << (y & 31);
    case ExpressionOp::kShiftRight: return x >> (y & 31);
  }
  return x;
}

}  // namespace

float Expression::evaluate(float v, float d, float b, float e) const {
  std::vector<Word> given;
  given.reserve(steps.size());
  const auto value = [&](const ExpressionValue& of) {
    switch (of.kind) {
      case ExpressionValue::Kind::kElement: return word(v);
      case ExpressionValue::Kind::kD: return word(d);
      case ExpressionValue::Kind::kB: return word(b);
      case ExpressionValue::Kind::kE: return word(e);
      case ExpressionValue::Kind::kStep: return given[of.word];
      case ExpressionValue::Kind::kConstant:
      case ExpressionValue::Kind::kWord: return of.word;
    }
    return word(v);
  };
  for (const ExpressionStep& step : steps)
    given.push_back(result(step.op, value(step.operands[0]), value(step.operands[1]), value(step.operands[2])));
  return given.empty() ? v : real(given.back());
}

}  // namespace cubejit
