// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a tensor is converted from any layout and type to any other: phases of moves, cut so that every thread has work
// and caches hold both ends. Leaves where elements lie to cubejit/index_map.h.
#pragma once

#include <string>

#include "algorithms/kit/lower/epilogue.h"
#include "cubejit/index_map.h"

namespace cubejit {

struct Conversion {
  std::string name;
  IndexMap from, to;
  Element fromType = Element::kF32, toType = Element::kF32;
  int source = -1, sink = -1;    ///< buffers
  Epilogue* epilogue = nullptr;  ///< of what is stored, an activation of f32 so far
  bool streams = false;          ///< whole vectors are stored past the caches; needs a sink that is aligned to a vector
};

/// Appends the phases. Elements of the target that stand for nothing are written as zero.
void addConversion(ProgramBuilder& b, const Conversion& c, int lanes);

/// A program that only converts input `from`, tensor `t` of one problem, to output `to`, the same tensor of another, which differ in its format
/// only. `streams`: as in Conversion.
TileProgram conversionProgram(const Problem& from, const Problem& to, TensorId t, int lanes, bool streams = false);

}  // namespace cubejit
