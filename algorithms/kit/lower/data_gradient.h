// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what lowerings of data gradients have in common: which tensor is read, which is written, how their axes relate, and
// how weights are addressed. Leaves what vectors hold to the algorithms.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/range.h"
#include "algorithms/kit/residue_classes.h"

namespace cubejit {

/// dX: result = dx, operand = dy.
struct DataGradient {
  ConvView view;
  TensorView result, operand;
  bool gather = true;  ///< result is the view's big tensor
  std::array<AxisRelation, 3> relation;
  std::int64_t taps = 1;
  // Weight element (group, reduction channel k, result channel n, tap), bytes: g*wGroup + k*wReduced + n*wResult + tap*wTap.
  std::int64_t wGroup = 0, wReduced = 0, wResult = 0;
  Dhw wTap{0, 0, 0};
  std::int64_t weightBytes = 0;
  Element weightElement = Element::kF32;
  bool hasGaps = false;  ///< some results are reached by no tap
};

DataGradient makeDataGradient(const Problem& problem, OneAxis axis);

/// Tap number in the weights of kernel position (d, h, w).
inline std::int64_t tapIndex(const DataGradient& g, std::int64_t d, std::int64_t h, std::int64_t w) {
  return (d * g.view.kernel.h + h) * g.view.kernel.w + w;
}

/// Adds the phase that zeroes the whole tensor of `buffer`.
void addZeroPhase(ProgramBuilder& b, int buffer, std::int64_t bytes, int lanes);

std::string problemLabel(const Problem& problem, Pass pass);

}  // namespace cubejit
