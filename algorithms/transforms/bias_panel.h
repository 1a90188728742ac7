// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how biases are unfolded for kernels that add them: to f32, block after block, as ResultChannels has them.
#pragma once

#include "algorithms/kit/lower/builder.h"
#include "algorithms/transforms/result_channels.h"

namespace cubejit {

struct BiasPanel {
  int from = -1, into = -1;   ///< buffers: b, and the panel, whose size is set
  std::int64_t channels = 0;  ///< of b
  Element type = Element::kF32;
  int lanes = 8;
};

/// Adds the phase "biases" before all others. Channels that only fill up a block get 0.
void addBiasPhase(ProgramBuilder& b, const ResultChannels& to, const BiasPanel& panel);

}  // namespace cubejit
