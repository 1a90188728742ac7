// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the steps that a data gradient's kernel makes for the taps of a segment: which vectors of weights, and which scalars (or
// vectors of input channels) of dy multiply them.
#pragma once

#include <array>

#include "algorithms/direct_data/lower/data_panels.h"
#include "algorithms/direct_data/lower/tap_group.h"
#include "codegen/tile/contract.h"

namespace cubejit {

/// What the steps of a kernel have in common. Offsets are bytes.
struct DataTile {
  Lens lens;                 ///< results of its box
  std::int64_t vectors = 1;  ///< of results side by side
  int lanes = 16;
  Pitches a;                                  ///< of dy, or its panel
  std::array<std::int64_t, 3> operandStep{};  ///< rows of dy from one result to the next, on d, h, w
  std::int64_t aChannel = 4, bChannel = 4, bVector = 64;
  std::int64_t lastVector = 0;     ///< lanes of the last vector of weights, where the others are not there; 0: all are
  bool inputVectors = false;       ///< lanes are channels of dy
  std::int64_t prefetchAhead = 0;  ///< bytes; 0: do not
  bool reusesBroadcasts = false;   ///< a scalar is loaded once for all taps that use it
  bool tapsAlongH = false;         ///< the one axis lies on H
};

/// `steps` reduction steps for each tap. `left`: reduction channels from the first step on, as far as they go.
Section dataSection(const DataTile& tile, const Subset& rows, std::int64_t steps, std::int64_t left);

}  // namespace cubejit
