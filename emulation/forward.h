// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what --fast leaves out: what L1 to L0 and the cube's own reading of L0 would copy one after the other is copied once, from
// L1 to the form the cube's contract walks. The sums get the same operands in the same order, so every bit stays; addresses, counts
// and times are those of the instructions as they are. Leaves which programs may run so to forward_rules, everything else to unit_code.
#pragma once

#include "emulation/unit_code.h"

namespace cubejit {

/// How a step's operands are forwarded.
struct ForwardWay {
  bool pairs = false;  ///< for dot products
  bool onlySeen =
      false;  ///< fractals of the image that are known to be zero are left out, and the other operand where all are:
              ///< of steps with `onlyReader`, where zerosAddNothing
  std::int64_t rows = 0;   ///< of A that the step's move brought; 0: not known, all
  std::int64_t along = 0;  ///< elements along k that the step's moves brought; 0: not known, all
  float* to = nullptr;     ///< where a move goes instead of `panels`
};

/// L0A and L0B are not touched: operands are put into `panels`, at the place of the fractals they stand for. Precondition of
/// way.onlySeen: panels.seen is that of the step's image (findSeen).
void forward(const UnitCode& code, const Unfold& i, const UnitContext& c, const ForwardWay& way, CubePanels& panels,
             CoreMemory& memory);
void forward(const UnitCode& code, const LoadFractals& i, const UnitContext& c, const ForwardWay& way,
             CubePanels& panels, CoreMemory& memory);
/// What was forwarded, with onlySeen in the order of panels.seen, to the places of i.l0a and i.l0b.
CubeOperands forwardedOperands(const Mmad& i, const UnitContext& c, const ForwardWay& way, const CubePanels& panels);

}  // namespace cubejit
