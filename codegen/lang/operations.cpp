// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the words of operations on elements.
#include <array>
#include <string>
#include <string_view>

#include "codegen/lang/source.h"
#include "codegen/tile/functions.h"

namespace cubejit::lang {
namespace {

using Value = ExpressionValue;

template <ExpressionOp op>
Value step(Expression& f, const Value* o) {
  return f.then(op, o[0], arity(op) > 1 ? o[1] : Value{}, arity(op) > 2 ? o[2] : Value{});
}
template <Value (*function)(Expression&, Value)>
Value call(Expression& f, const Value* o) {
  return function(f, o[0]);
}
Value relu(Expression& f, const Value* o) { return f.then(ExpressionOp::kMax, o[0], Value::constant(0)); }
// 1 / sqrt(x), both rounded.
Value rsqrt(Expression& f, const Value* o) {
  return f.then(ExpressionOp::kDiv, Value::constant(1), f.then(ExpressionOp::kSqrt, o[0]));
}
// x / 2 * (1 + erf(x / sqrt(2))).
Value gelu(Expression& f, const Value* o) {
  const Value erf = erfOf(f, f.then(ExpressionOp::kMul, o[0], Value::constant(0.707106781F)));
  return f.then(ExpressionOp::kMul, f.then(ExpressionOp::kMul, o[0], Value::constant(0.5F)),
                f.then(ExpressionOp::kAdd, erf, Value::constant(1)));
}
Value silu(Expression& f, const Value* o) { return f.then(ExpressionOp::kMul, o[0], sigmoidOf(f, o[0])); }

using enum ExpressionOp;
constexpr std::array kOperations{Operation{"add", 2, step<kAdd>},
                                 Operation{"sub", 2, step<kSub>},
                                 Operation{"mul", 2, step<kMul>},
                                 Operation{"div", 2, step<kDiv>},
                                 Operation{"fma", 3, step<kFma>},
                                 Operation{"min", 2, step<kMin>},
                                 Operation{"max", 2, step<kMax>},
                                 Operation{"abs", 1, step<kAbs>},
                                 Operation{"neg", 1, call<negativeOf>},
                                 Operation{"sqrt", 1, step<kSqrt>},
                                 Operation{"rsqrt", 1, rsqrt},
                                 Operation{"round", 1, step<kRound>},
                                 Operation{"floor", 1, step<kFloor>},
                                 Operation{"exp", 1, call<expOf>},
                                 Operation{"log", 1, call<logOf>},
                                 Operation{"tanh", 1, call<tanhOf>},
                                 Operation{"erf", 1, call<erfOf>},
                                 Operation{"sigmoid", 1, call<sigmoidOf>},
                                 Operation{"relu", 1, relu},
                                 Operation{"gelu", 1, gelu},
                                 Operation{"silu", 1, silu},
                                 Operation{"equal", 2, step<kEqual>},
                                 Operation{"less", 2, step<kLess>},
                                 Operation{"at_most", 2, step<kAtMost>},
                                 Operation{"select", 3, step<kSelect>},
                                 Operation{"and", 2, step<kAnd>},
                                 Operation{"or", 2, step<kOr>},
                                 Operation{"xor", 2, step<kXor>}};

}  // namespace

const Operation* operationNamed(std::string_view word) {
  for (const Operation& operation : kOperations) {
    if (word == operation.word) return &operation;
  }
  return nullptr;
}

std::string operationWords() {
  std::string words;
  for (const Operation& operation : kOperations) words += (words.empty() ? "" : ", ") + std::string(operation.word);
  return words;
}

}  // namespace cubejit::lang
