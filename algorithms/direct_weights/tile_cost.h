// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the tiles of a weight gradient compute: FMA slots with idle lanes, rows and taps, loads, and lines that come from memory.
#pragma once

#include "algorithms/direct_weights/shape.h"

namespace cubejit {

/// Cycles of one core for all steps of all tiles.
double tileCycles(const WeightShape& shape);

}  // namespace cubejit
