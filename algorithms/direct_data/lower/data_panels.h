// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a slab's rows of dy come into a task's panel, and how results leave theirs: copied, transposed, or summed across
// lanes. Leaves where slabs and panels lie to lower.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/panel_moves.h"

namespace cubejit {

/// Byte distances between neighbouring rows of the tile on each axis.
struct RowPitch {
  std::int64_t n = 0, d = 0, h = 0, w = 0;
};

struct DataPanels {
  const DataGradient& gradient;
  const std::array<SlabAxis, 3>& axes;
  const RowPitch &operandPitch, &resultPitch;
  int lanes = 16;
  std::int64_t width = 16;  ///< result channels of a block
  PanelElements operandElements = PanelElements::kWide;
};

struct PanelEnds {
  int tensor = -1, panel = -1;  ///< streams
};

/// Moves dy rows into the panel (in) or panel rows out to dx, plane by plane; a plane's rows are one matrix.
/// `blocks`: the axis of channel blocks if a panel of results holds only one of them, else -1.
Node panelMoves(ProgramBuilder& b, const DataPanels& p, bool in, PanelEnds ends, const std::array<int, 2>& slabAxis,
                int blocks);

/// Sums the lanes of the panel's partial results into dx, plane by plane.
Node sumMoves(ProgramBuilder& b, const DataPanels& p, PanelEnds ends, const std::array<int, 2>& slabAxis);

}  // namespace cubejit
