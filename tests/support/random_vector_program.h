// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what random VectorPrograms look like: every op, masks, nested loops, aliased operands; addresses stay in one arena.
#pragma once

#include <cstdint>
#include <random>

#include "codegen/vector/program.h"

namespace cubejit {

struct RandomShape {
  int instructions = 60;
  int vectors = 12;  ///< registers the program mentions, at most mostRandomVectors
  bool masks = true;
};

/// The most registers a program may mention such that rewriting any instruction for the ISA finds those it needs beside them.
int mostRandomVectors(const HostIsa& isa);

/// Bytes the program may touch behind each of the pointers a and c.
inline constexpr std::int64_t kRandomArenaBytes = 4096;

/// Well formed, not legalised. Reads a (floats), list (scalars) and c; writes c. Ends by storing every vector register.
VectorProgram randomVectorProgram(std::mt19937& rng, const HostIsa& isa, const RandomShape& shape);

}  // namespace cubejit
