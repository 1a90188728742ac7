// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what it costs to fill a panel of dY, whatever the lanes of a vector are. Leaves to costs how often it is filled.
#pragma once

#include <algorithm>
#include <cmath>

#include "algorithms/kit/rates.h"

namespace cubejit {

/// Planes of a plain tensor that lie on pages of their own.
inline double planesApart(const TensorView& t) {
  constexpr double kPageBytes = 4096;
  return t.plain() ? static_cast<double>(t.channels) * std::min(1.0, static_cast<double>(t.cStride) / kPageBytes) : 0.0;
}

/// Cycles of taking all of dY into panels once. A pixel takes whole vectors, and so does a channel that is paired with zero; short ones share
/// vectors.
inline double operandPanelCycles(const TensorView& t, bool dotProducts, const Machine& m) {
  const auto channels = static_cast<double>(t.channels);
  const double pixels = static_cast<double>(t.bytes / byteSize(t.dtype)) / channels,
               alone = dotProducts && t.channels % 2 != 0 ? 1.0 : 0.0;
  double vectors = panelVectors(t);
  if (dotProducts && shortPixels(t, t.channels))
    vectors = pixels * (channels + alone) / 32.0;
  else if (t.channelsLast)
    vectors = pixels * (std::ceil(channels / 16.0) + alone);
  // Nothing foresees which lines of so many planes are next.
  const auto bytes = static_cast<double>(t.bytes);
  const double waits = t.plain() ? bytes / bytesPerCycle(m, bytes / m.cores, true) : 0.0;
  return vectors * panelCycles(t, m) * crowdedPlanes(t) + waits;
}

}  // namespace cubejit
