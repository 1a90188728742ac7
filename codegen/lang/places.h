// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where elements of tensors lie: how what `let` names is laid out, and how far apart in memory an access is along each index.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/lang/source.h"

namespace cubejit::lang {

/// Where the elements of an access lie, in bytes.
struct Place {
  int tensor = -1;
  Element element = Element::kF32;
  std::int64_t offset = 0;
  std::vector<std::int64_t> apart;  ///< by index: from one of its numbers to the next
  std::vector<std::int64_t>
      start;  ///< by index: the same, for the number at which a loop's tile begins; less where the tensor holds a tile alone

  std::int64_t apartAt(int index) const { return index < 0 ? 0 : apart[static_cast<std::size_t>(index)]; }
  bool contiguous(int index) const { return index >= 0 && apartAt(index) == elementBytes(element); }
  bool sameAlong(int index) const { return apartAt(index) == 0; }
};

/// Where the values are packed into words, an even number and the one behind it, or four from a multiple of four on, share a 32-bit word, and this is
/// the place of that word.
Place placeOf(const Source& kernel, const Access& access);

/// Each once, in the order in which they stand.
std::vector<int> indicesOf(const Access& access);
/// Dimensions of extent 1 can make several indices contiguous: the one with the most numbers is taken. Numbers in a word are not. -1: there is none.
int contiguousIndex(const Source& kernel, const Access& access);

/// What `let` names, or a value that has no name.
inline bool isValue(const Tensor& t) { return t.use == Buffer::Use::kPrivate || t.use == Buffer::Use::kShared; }
/// Whether its last dimension lies in blocks.
inline bool liesInBlocks(const Tensor& t) { return !t.dimensions.empty() && t.dimensions.back().block > 0; }
/// Gives the dimensions of a value their strides: the last one is contiguous, and filled up to whole vectors of `lanes` unless it lies in blocks.
void layOut(Tensor& value, int lanes);
/// Bytes of a value, up to where its last row is filled up.
std::int64_t bytesOfValue(const Tensor& value, int lanes);

}  // namespace cubejit::lang
