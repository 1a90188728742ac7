// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how places of like matrices become the list of one kernel. Leaves which matrices there are to its users.
#pragma once

#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// A kernel with a list, and the place from which the list's offsets count.
struct ListedMatrices {
  Move kernel;
  SegmentList list;
  std::int64_t a = 0, c = 0;
};

/// `matrix` once for each repetition of each segment. Without outer steps of its own the matrix gets the distance between segments that
/// occurs most. Precondition: there is a segment.
ListedMatrices listMatrices(Move matrix, const std::vector<Segment>& segments);

}  // namespace cubejit
