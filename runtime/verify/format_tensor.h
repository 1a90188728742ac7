// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how plain f32 values become a tensor of any format and back, one element at a time: the oracle of generated conversions.
// Plain order: n, c, d, h, w; weights o, i, d, h, w with i counted inside a group; db: channels.
#pragma once

#include <cstdint>
#include <vector>

#include "cubejit/problem.h"

namespace cubejit {

/// The value an operand of this type has: 16-bit types and HF32 round it.
float roundedTo(DType type, float value);

/// The problem with every tensor f32 and plain: what plain values are tensors of.
Problem plainProblem(const Problem& problem);

/// Elements of the plain tensor.
std::int64_t plainElements(const Problem& problem, TensorId t);

/// Writes all elements; bytes that stand for nothing become `unused`: the padding of blocks, what lies between the elements of a view.
/// kNan is NaN in every type.
inline constexpr char kNan = '\xff';
void encodeTensor(const Problem& problem, TensorId t, const std::vector<float>& plain, char* memory, char unused = 0);
/// What those bytes of an operand are, so that nobody uses them unseen. `readsPadding`: as in VerifyRequest.
inline char unusedIn(const Problem& problem, TensorId t, bool readsPadding) {
  return readsPadding && !formatOf(problem, t).strided() ? '\0' : kNan;
}

struct DecodedTensor {
  std::vector<float> plain;
  std::int64_t dirtyPadding = -1;  ///< index of an element that stands for nothing and is not zero; -1: none
};
DecodedTensor decodeTensor(const Problem& problem, TensorId t, const char* memory);

}  // namespace cubejit
