// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a finished sum in a register becomes what post-ops make of it; the meaning is that of tile/contract.h.
#pragma once

#include "codegen/units/assembler.h"
#include "codegen/units/element_code.h"
#include "cubejit/post_ops.h"

namespace cubejit {

class PostCode {
 public:
  /// `result`: the type in which results are stored, and z is. `oneBias`: lanes have the same, and only one is read.
  PostCode(VectorAssembler& a, const PostOps& post, Element result, bool oneBias = false)
      : a_(a), post_(post), oneBias_(oneBias), addends_(a, result, Element::kF32) {}

  bool any() const { return post_.any(); }
  bool adds() const { return post_.add; }

  /// `temporary` is overwritten. Scalars: `bias` + biasAt leads to a whole vector of biases, or one, `addend` + addendAt to `lanes` of z.
  void apply(int reg, int temporary, int bias, std::int64_t biasAt, int addend, std::int64_t addendAt,
             LaneRange lanes) {
    if (post_.bias) {
      oneBias_ ? a_.broadcast(temporary, bias, biasAt) : a_.load(temporary, bias, biasAt);
      a_.addF(reg, reg, temporary);
    }
    if (post_.add) {
      addends_.load(temporary, -1, addend, addendAt, lanes);
      a_.addF(reg, reg, temporary);
    }
    switch (post_.activation) {
      case Activation::kNone: break;
      case Activation::kRelu:
        a_.zero(temporary);
        a_.binary(VOp::kMaxF, reg, temporary, reg);
        break;
      case Activation::kLeakyRelu:  // where alpha is above 1, the smaller of both is what is scaled
        if (post_.alpha == 0) {     // a maximum would leave -infinity, which times 0 is NaN: + |min(0, reg)|
          a_.zero(temporary);
          a_.binary(VOp::kMinF, temporary, temporary, reg);
          a_.shift(VOp::kShiftLeft, temporary, temporary, 1);
          a_.shift(VOp::kShiftRight, temporary, temporary, 1);
          a_.addF(reg, reg, temporary);
          break;
        }
        a_.constant(temporary, a_.addUniform(bitsOf(post_.alpha)));
        a_.binary(VOp::kMul, temporary, temporary, reg);
        a_.binary(post_.alpha <= 1 ? VOp::kMaxF : VOp::kMinF, reg, temporary, reg);
        break;
      case Activation::kClip:
        a_.constant(temporary, a_.addUniform(bitsOf(post_.alpha)));
        a_.binary(VOp::kMaxF, reg, temporary, reg);
        a_.constant(temporary, a_.addUniform(bitsOf(post_.beta)));
        a_.binary(VOp::kMinF, reg, temporary, reg);
        break;
    }
  }

  /// The other way: what is in `reg`, times the slope where `y` holds results. Overwrites y, s.x, s.y, s.constant and `more`.
  void backward(int reg, int y, NarrowScratch s, int more) {
    const int above = s.x;
    switch (post_.activation) {
      case Activation::kNone: return;
      case Activation::kRelu:
        positive(above, y, s, true);
        a_.binary(VOp::kAnd, reg, reg, above);
        return;
      case Activation::kLeakyRelu:  // y holds the opposite of `above` then
        positive(above, y, s, false);
        a_.constant(more, a_.addUniform(bitsOf(post_.alpha)));
        a_.binary(VOp::kMul, more, more, reg);
        a_.binary(VOp::kAnd, more, more, y);
        a_.binary(VOp::kAnd, reg, reg, above);
        a_.binary(VOp::kOr, reg, reg, more);
        return;
      case Activation::kClip:
        a_.constant(s.constant, a_.addUniform(bitsOf(-post_.alpha)));
        a_.addF(more, y, s.constant);
        a_.constant(s.constant, a_.addUniform(bitsOf(-1.0F)));
        a_.binary(VOp::kMul, y, y, s.constant);
        a_.constant(s.constant, a_.addUniform(bitsOf(post_.beta)));
        a_.addF(y, y, s.constant);
        positive(above, more, s, true);
        a_.binary(VOp::kAnd, reg, reg, above);
        positive(above, y, s, true);
        a_.binary(VOp::kAnd, reg, reg, above);
        return;
    }
  }

 private:
  // `above`: all bits where `value` is above zero, and where it is NaN if that counts, else none; `value`: the other way round. What is not above
  // becomes zero; words: without the sign, which zeros and NaNs may have; 1 if anything is left; less 1.
  void positive(int above, int value, NarrowScratch s, bool orNan) {
    const auto step = [&](VOp op, int to, int from, std::uint32_t word) {
      a_.constant(s.constant, a_.addUniform(word));
      a_.binary(op, to, from, s.constant);
    };
    a_.zero(above);
    if (orNan) {  // a maximum of NaN and another is the second operand
      a_.binary(VOp::kMaxF, value, above, value);
      step(VOp::kAnd, value, value, 0x7fffffffU);
    } else {
      a_.binary(VOp::kMaxF, value, value, above);
    }
    step(VOp::kMinInt, value, value, 1);
    step(VOp::kAddInt, value, value, ~0U);
    step(VOp::kAnd, above, value, 1);
    step(VOp::kAddInt, above, above, ~0U);
  }

  VectorAssembler& a_;
  const PostOps post_;
  const bool oneBias_;
  ElementCode addends_;
};

}  // namespace cubejit
