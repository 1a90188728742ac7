// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the wording of annotations: elements, loops, accumulators, and one phrase an instruction.
#pragma once

#include <string>
#include <vector>

#include "codegen/listing.h"
#include "runtime/dump/annotate.h"

namespace cubejit {

/// What is explained, together; all of it outlives the explanation.
struct KernelStory {
  const TensorElements& elements;
  const TileProgram& program;
  int kernel;
  const VectorProgram& vector;
  const Annotation& annotation;
};

/// "dy[h1 w2 c0..15 + 16*i2]"; axes of extent 1 are left out. Where axes stand by their order, all are there: "A[3, 0..15+16*i2]".
std::string text(const KernelStory& story, const Touch& touch);

/// One phrase per instruction, "" where there is nothing to say: "dx[w0 c0..15] += w[o0 i0..15] * dy[w0 c0]".
std::vector<std::string> phrases(const KernelStory& story);

/// One line per loop: "i2: 16 times, segments of section 0 ...".
std::vector<std::string> loopLines(const KernelStory& story);

/// The lines a listing begins with: what the kernel is, the example call, its accumulators and its loops.
std::vector<std::string> headLines(const KernelStory& story);

/// Notes with all that is known of a kernel.
ListingNotes notesOf(const KernelStory& story);

}  // namespace cubejit
