// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what --fast leaves out: what L1 to L0 and the cube's own reading of L0 would copy one after the other is copied once, from
// L1 to the form the cube's contract walks. The sums get the same operands in the same order, so every bit stays; addresses, counts
// and times are those of the instructions as they are. Leaves everything else to unit_code.
#pragma once

#include "emulation/unit_code.h"

namespace cubejit {

/// L0A and L0B are not touched: operands are put into `panels`, at the place of the fractals they stand for.
void forward(const UnitCode& code, const Unfold& i, const UnitContext& c, CubePanels& panels, CoreMemory& memory);
void forward(const UnitCode& code, const LoadFractals& i, const UnitContext& c, CubePanels& panels, CoreMemory& memory);
/// The sums of what was forwarded to the places of i.l0a and i.l0b.
void multiplyForwarded(const UnitCode& code, const Mmad& i, const UnitContext& c, CubePanels& panels,
                       CoreMemory& memory);

}  // namespace cubejit
