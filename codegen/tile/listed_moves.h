// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how places of like matrices become the list of one kernel. Leaves which matrices there are to its users.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// What can have a list.
using ListedMove = std::variant<Copy, Transpose, Fill, Accumulate>;
inline Kernel kernelOf(ListedMove move) {
  return std::visit([](auto& m) { return Kernel(std::move(m)); }, move);
}

/// A kernel with a list, and the place from which the list's offsets count.
struct ListedMatrices {
  ListedMove kernel;
  SegmentList list;
  std::int64_t a = 0, c = 0;
};

/// `matrix` once for each repetition of each segment. If it has no steps of its own, the matrix gets the distance between segments that occurs
/// most. Precondition: there is a segment.
ListedMatrices listMatrices(ListedMove matrix, const std::vector<Segment>& segments);

}  // namespace cubejit
