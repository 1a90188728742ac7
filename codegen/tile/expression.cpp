// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/tile/expression.h"

#include <cmath>

namespace cubejit {
namespace {

float result(ExpressionOp op, float x, float y, float z) {
  switch (op) {
    case ExpressionOp::kAdd: return x + y;
    case ExpressionOp::kMul: return x * y;
    case ExpressionOp::kMin: return x < y ? x : y;
    case ExpressionOp::kMax: return x > y ? x : y;
    case ExpressionOp::kAbs: return std::fabs(x);
    case ExpressionOp::kSelectGt0: return x > 0 ? y : z;
    case ExpressionOp::kSelectLe0: return x <= 0 ? y : z;
  }
  return x;
}

}  // namespace

float Expression::evaluate(float v, float d, float e) const {
  std::vector<float> given;
  given.reserve(steps.size());
  const auto value = [&](const ExpressionValue& of) {
    switch (of.kind) {
      case ExpressionValue::Kind::kElement: return v;
      case ExpressionValue::Kind::kD: return d;
      case ExpressionValue::Kind::kE: return e;
      case ExpressionValue::Kind::kStep: return given[of.word];
      case ExpressionValue::Kind::kConstant: return std::bit_cast<float>(of.word);
    }
    return v;
  };
  for (const ExpressionStep& step : steps)
    given.push_back(result(step.op, value(step.operands[0]), value(step.operands[1]), value(step.operands[2])));
  return given.empty() ? v : given.back();
}

}  // namespace cubejit
