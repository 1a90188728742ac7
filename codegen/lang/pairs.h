// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which sums of products are dot products of pairs of bf16, and which values are kept for them as bf16, or as words of pairs, where others
// are f32. Statements see it in the values' types alone: Tensor::element and Tensor::pairs.
//
// A dot product takes two numbers of an index at once. Of the factor that lies along the vectors they are in one word, or `pairs` lay them there; of
// the other one they lie side by side in memory.
#pragma once

#include <optional>

#include "codegen/lang/source.h"
#include "cubejit/host_isa.h"

namespace cubejit::lang {

struct DotSum {
  Access vectors, other;
  int along = -1;  ///< the index of which products are added two and two
};
/// A sum's, where a vector's lanes are the numbers of `vector`; none if it is no sum of products of two elements of bf16 that lie so.
std::optional<DotSum> dotSumOf(const Source& kernel, const Expr& sum, int vector, const HostIsa& isa);

/// The kernel with such types of its values. Only what is written by one statement, a copy of an input's elements of bf16, and read by dot products
/// alone is no f32: of that every bit is kept.
Source withPairs(Source kernel, const HostIsa& isa);

}  // namespace cubejit::lang
