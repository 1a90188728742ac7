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
  /// `result`: the type in which results are stored, and z is.
  PostCode(VectorAssembler& a, const PostOps& post, Element result)
      : a_(a), post_(post), addends_(a, result, Element::kF32) {}

  bool any() const { return post_.any(); }
  bool adds() const { return post_.add; }

  /// `temporary` is overwritten. Scalars: `bias` + biasAt leads to a whole vector of biases, `addend` + addendAt to `lanes` of z.
  void apply(int reg, int temporary, int bias, std::int64_t biasAt, int addend, std::int64_t addendAt,
             LaneRange lanes) {
    if (post_.bias) {
      a_.load(temporary, bias, biasAt);
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

 private:
  VectorAssembler& a_;
  const PostOps post_;
  ElementCode addends_;
};

}  // namespace cubejit
