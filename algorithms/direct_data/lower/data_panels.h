// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a cache block's rows of dy come into a task's panel, and how results leave theirs: copied, transposed, or summed across
// lanes. Leaves where cache blocks and panels lie to lower.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "algorithms/kit/lower/blocked_axis.h"
#include "algorithms/kit/lower/epilogue.h"
#include "algorithms/kit/lower/operand.h"
#include "algorithms/kit/lower/panel_moves.h"

namespace cubejit {

struct DataPanels {
  const Operand &operand, &result;
  const std::array<BlockedAxis, 3>& axes;
  int lanes = 16;
  std::int64_t width = 16;  ///< result channels of a block
  PanelElements operandElements = PanelElements::kWide;
  std::array<int, 2> cacheAxis{};  ///< of D and H: their classes tell what there is to move
};

/// Moves dy's rows into the panel, plane by plane; a plane's rows are one matrix.
Node packNode(ProgramBuilder& b, const DataPanels& p);
/// Moves the panel's rows out to dx. `blocks`: the axis of channel blocks if the panel holds only one of them, else -1.
Node unpackNode(ProgramBuilder& b, const DataPanels& p, Epilogue& epilogue, int blocks);
/// Sums the lanes of the panel's partial results into dx.
Node sumNode(ProgramBuilder& b, const DataPanels& p, Epilogue& epilogue);

}  // namespace cubejit
