// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a row of results held as [residue][channel][j] leaves its panel: residue classes are interleaved into the tensor's
// row, channels-last or plain.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/lower/epilogue.h"
#include "algorithms/kit/residue_classes.h"

namespace cubejit {

struct SpatialResults {
  int lanes = 16;
  std::int64_t blockRows = 1;  ///< channels a residue has room for in the panel
  std::int64_t rowPitch = 0;   ///< bytes between rows of the panel
  const TensorView* result = nullptr;
  const std::vector<ResidueClass>* residues = nullptr;
  std::int64_t resultStep = 1;
  int rowAxis = -1;  ///< the innermost loop, over rows that leave the panel alike; -1 if there is one row
};

/// Appends the moves to `body`. `classAxes` end with the channel axis (class 0: channels[0] channels, class 1: channels[1]);
/// `exists` says for every combination of the other axes' classes whether there is such a row.
void addSpatialResults(ProgramBuilder& b, Epilogue& epilogue, const SpatialResults& r, int panel, int tensor,
                       const std::vector<int>& classAxes, const std::vector<bool>& exists,
                       const std::array<std::int64_t, 2>& channels, std::vector<Node>& body);

}  // namespace cubejit
