// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how kernels walk a section of their list (segment_words.h).
#pragma once

#include "codegen/units/assembler.h"

namespace cubejit {

/// Scalar registers: pointers A and B, what is left of the list, the iteration's operands, and two counters.
struct SegmentRegisters {
  int a, b, segment, at, bt, outer, segments;
};

/// `segments` times: takes the segment at `segment`, and its iterations `outer` times, which move `at` and `bt` on themselves.
template <class Iteration>
void forEachIteration(VectorAssembler& a, const SegmentRegisters& r, const Iteration& iteration) {
  a.loop(r.segments);
  a.addLoad(r.at, r.a, r.segment, 0);
  a.addLoad(r.bt, r.b, r.segment, 8);
  a.loadScalar(r.outer, r.segment, 16);
  a.addImm(r.segment, r.segment, 24);
  a.loop(r.outer);
  iteration();
  a.endLoop();
  a.endLoop();
}

}  // namespace cubejit
