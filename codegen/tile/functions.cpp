// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides ranges and polynomials. Those are near-minimax on their ranges: interpolation at Chebyshev's nodes, made with 40 digits.
#include "codegen/tile/functions.h"

#include <initializer_list>

namespace cubejit {
namespace {

using Value = ExpressionValue;
using Op = ExpressionOp;

constexpr std::uint32_t kSign = 0x80000000U, kOne = 0x3f800000U;

// The natural logarithm of 2 in two parts: multiples of the first by an exponent are exact.
constexpr float kLn2High = 0.693145752F, kLn2Low = 1.42860677e-06F;

constexpr Value number(float value) { return Value::constant(value); }

// Added to a number of fewer than 22 bits, the sum's lowest bits are the integer nearest to it.
constexpr float kNearest = 12582912.0F;

// Coefficients from the highest power down.
Value polynomial(Expression& f, Value x, std::initializer_list<float> coefficients) {
  Value sum = number(*coefficients.begin());
  for (const float* c = coefficients.begin() + 1; c != coefficients.end(); ++c)
    sum = f.then(Op::kFma, sum, x, number(*c));
  return sum;
}

Value withSignOf(Expression& f, Value magnitude, Value x) {
  return f.then(Op::kOr, magnitude, f.then(Op::kAnd, x, Value::bits(kSign)));
}

}  // namespace

Value negativeOf(Expression& f, Value x) { return f.then(Op::kXor, x, Value::bits(kSign)); }

// x = n ln 2 + r; exp(r) = 1 + r + r^2 q(r).
Value expOf(Expression& f, Value x) {
  constexpr float kPerLn2 = 1.44269504F;
  const Value inside = f.then(Op::kMin, number(89), f.then(Op::kMax, number(-104), x)),
              shifted = f.then(Op::kFma, inside, number(kPerLn2), number(kNearest)),
              n = f.then(Op::kSub, shifted, number(kNearest)), high = f.then(Op::kFma, n, number(-kLn2High), inside),
              r = f.then(Op::kFma, n, number(-kLn2Low), high),
              q = polynomial(f, r, {0.00139262504F, 0.00836323295F, 0.0416665524F, 0.166665763F, 0.5F}),
              most = f.then(Op::kFma, q, f.then(Op::kMul, r, r), r);
  return f.then(Op::kScale, f.then(Op::kAdd, most, number(1)), n);
}

// x = 2^n m with m between the roots of 1/2 and 2; log(1 + g) = g - g^2 / 2 + g^3 q(g).
Value logOf(Expression& f, Value x) {
  constexpr std::uint32_t kRootHalf = 0x3f3504f3U;
  const Value denormal = f.then(Op::kLess, x, number(0x1p-126F)),
              scaled = f.then(Op::kSelect, denormal, f.then(Op::kMul, x, number(0x1p25F)), x),
              moved = f.then(Op::kAddInt, scaled, Value::bits(kOne - kRootHalf)),
              exponent = f.then(Op::kOr, f.then(Op::kShiftRight, moved, Value::bits(23)), Value::bits(0x4b000000U)),
              biased = f.then(Op::kSub, exponent, number(0x1p23F + 127)),
              n = f.then(Op::kSub, biased, f.then(Op::kAnd, denormal, number(25))),
              m = f.then(Op::kAddInt, f.then(Op::kAnd, moved, Value::bits(0x007fffffU)), Value::bits(kRootHalf)),
              g = f.then(Op::kSub, m, number(1)), square = f.then(Op::kMul, g, g),
              q = polynomial(f, g,
                             {0.0697161183F, -0.114797339F, 0.116854198F, -0.124256872F, 0.142490581F, -0.166678026F,
                              0.200007156F, -0.24999997F, 0.333333313F}),
              third = f.then(Op::kMul, f.then(Op::kMul, square, g), q),
              low = f.then(Op::kFma, n, number(kLn2Low), f.then(Op::kFma, square, number(-0.5F), third)),
              y = f.then(Op::kFma, n, number(kLn2High), f.then(Op::kAdd, low, g));
  // Infinity and NaN are their own logarithms.
  const Value finite = f.then(Op::kLess, x, Value::bits(0x7f800000U)), ofFinite = f.then(Op::kSelect, finite, y, x),
              ofOthers = f.then(Op::kSelect, f.then(Op::kEqual, x, number(0)), Value::bits(0xff800000U),
                                Value::bits(0x7fc00000U));
  return f.then(Op::kSelect, f.then(Op::kAtMost, x, number(0)), ofOthers, ofFinite);
}

// With e = exp(-|x|), which is no more than 1: 1 / (1 + e), and e / (1 + e) below zero.
Value sigmoidOf(Expression& f, Value x) {
  const Value e = expOf(f, f.then(Op::kOr, x, Value::bits(kSign))),
              above = f.then(Op::kSelect, f.then(Op::kLess, x, number(0)), e, number(1));
  return f.then(Op::kDiv, above, f.then(Op::kAdd, e, number(1)));
}

// Near zero x + x^3 q(x^2), elsewhere 1 - 2 / (exp(2 |x|) + 1).
Value tanhOf(Expression& f, Value x) {
  const Value a = f.then(Op::kAbs, x), square = f.then(Op::kMul, x, x),
              q = polynomial(f, square, {-0.00609671418F, 0.0209971797F, -0.0538509078F, 0.133327693F, -0.333333284F}),
              near = f.then(Op::kFma, f.then(Op::kMul, square, q), a, a), e = expOf(f, f.then(Op::kAdd, a, a)),
              far = f.then(Op::kSub, number(1), f.then(Op::kDiv, number(2), f.then(Op::kAdd, e, number(1))));
  return withSignOf(f, f.then(Op::kSelect, f.then(Op::kLess, a, number(0.625F)), near, far), x);
}

// Up to 1 x + x q(x^2), beyond 1 - exp(g(|x|)), which is 1 from 4 on.
Value erfOf(Expression& f, Value x) {
  const Value a = f.then(Op::kAbs, x), square = f.then(Op::kMul, x, x),
              q = polynomial(f, square,
                             {7.87587487e-05F, -0.00080168643F, 0.00518908724F, -0.0268542115F, 0.112835944F,
                              -0.37612626F, 0.128379166F}),
              near = f.then(Op::kFma, a, q, a), inside = f.then(Op::kMin, number(4), a),
              g = polynomial(f, inside,
                             {1.6371514e-06F, -4.60580413e-05F, 0.00059680565F, -0.0047595962F, 0.0264211353F,
                              -0.110080086F, -0.631826043F, -1.13023341F, 0.00032013806F}),
              far = f.then(Op::kSub, number(1), expOf(f, g));
  return withSignOf(f, f.then(Op::kSelect, f.then(Op::kLess, a, number(1)), near, far), x);
}

}  // namespace cubejit
