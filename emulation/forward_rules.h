// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether --fast may run a program: a question about the program alone, asked of each before it runs. Leaves the moves
// themselves to forward, and showing that they bring every element where the staged ones do to forward_proof.
#pragma once

#include <vector>

#include "cubejit/result.h"
#include "emulation/unit_models.h"
#include "tiling/npu/unit_program.h"

namespace cubejit {

/// An instruction of a program, and how it runs.
struct ForwardStep {
  UnitInstruction instruction;
  bool forwarded = false;  ///< a move from L1 goes to the cube's panels, an Mmad reads them
  /// A move to L0A, one to L0B and their Mmad, in a row: where in L1 its operands begin. Elsewhere -1.
  std::int64_t aL1 = -1, bL1 = -1;
  std::int64_t rows =
      0;  ///< of such a step: rows of A that are moved, the others fill up the last fractal; elsewhere 0
  std::int64_t along = 0;   ///< and elements along k
  bool apart = false;       ///< of such a step: no other Mmad reads what the two moves left
  bool onlyReader = false;  ///< and an image is unfolded to L0A first
};
using ForwardedProgram = std::vector<ForwardStep>;

/// The program with its moves from L1 to L0 forwarded. Error, with the instruction: an Mmad reads what no single move left there as a
/// whole, in the same fractals, since the program began; such a program runs as it is.
Result<ForwardedProgram> forwardProgram(const UnitProgram& program, const UnitContext& c);

}  // namespace cubejit
