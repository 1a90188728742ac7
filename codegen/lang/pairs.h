// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which sums of products are dot products of pairs of bf16 or of quads of i8, and which values are kept for them as such elements, or as words
// of them, where others are f32. Statements see it in the values' types alone: Tensor::element and Tensor::packed.
//
// A dot product takes two or four numbers of an index at once. Of the factor that lies along the vectors they are in one word, where `packed` laid
// them; of the other one they lie side by side in memory.
#pragma once

#include <optional>

#include "codegen/lang/source.h"
#include "cubejit/host_isa.h"

namespace cubejit::lang {

struct DotSum {
  Access vectors, other;
  int along = -1;  ///< the index of which products are added two and two, or four and four
  Products products = Products::kPairs;
  bool vectorsLie = true, otherLies = true;  ///< as a dot product takes them: of pairs always
};
/// A sum's, where a vector's lanes are the numbers of `vector`; none if it is no sum of products of two elements of bf16 that lie so, or of i8, of
/// which one is the same along the vector. Pairs of `vectors` need not be packed: they can be formed on the way.
std::optional<DotSum> dotSumOf(const Source& kernel, const Expr& sum, int vector, const HostIsa& isa);

/// Whether a dot product can take the factors of this product two and two as they lie in memory: both are elements of bf16, contiguous along that
/// index, and each tile of the index has an even number of them, so that the last one has a partner, too.
bool isAlongPairs(const Source& kernel, const Expr& product, int along, const HostIsa& isa);

/// Whether a sum is one of products of two elements of i8, which is exact.
bool isIntegerSum(const Source& kernel, const Expr& sum);

/// The kernel with such types of its values. Only what is written by one statement, a copy of an input's elements, is no f32: of i8, or of bf16 if
/// dot products alone read it, sums along rows of pairs among them. Of that every bit is kept.
Source withPacked(Source kernel, const HostIsa& isa);

}  // namespace cubejit::lang
