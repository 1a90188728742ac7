// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides on which scale work is counted where only its order of magnitude matters: whether other threads are woken for a phase. The
// lowerings count with it and planners cost with it, so that all plans of a problem are costed with the threads they will run on.
#pragma once

#include "algorithms/kit/conv_view.h"
#include "cubejit/options.h"

namespace cubejit {

/// Vectors of multiply-adds of a contraction, taps in padding included: as many cycles if a core did one at a time.
inline double multiplyAddVectors(const ConvView& v, int lanes) {
  return static_cast<double>(v.batch) * static_cast<double>(v.groups) *
         static_cast<double>(v.small.extent.volume() * v.taps()) *
         static_cast<double>(v.small.channels * v.big.channels) / lanes;
}

}  // namespace cubejit
