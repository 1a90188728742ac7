// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which part of a TileProgram depends on kept inputs alone (weights, for one), and so need not be done again while they stay the same.
// Leaves to runtime/exec/launch to run only that part, or all but that part.
#pragma once

#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

struct Prepack {
  std::vector<bool> phases;   ///< by phase: it reads kept inputs only, and writes nothing but kept buffers
  std::vector<bool> buffers;  ///< by buffer: workspace that only such phases write
  bool complete = false;      ///< no other phase reads kept inputs
};

Prepack prepackOf(const TileProgram& program);

}  // namespace cubejit
