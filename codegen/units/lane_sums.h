// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a vector's worth of rows are summed across their lanes: a tree of unpacks and additions that ends with one
// vector holding one sum a row, in the order laneSum() names.
#pragma once

#include <cstdint>

#include "codegen/units/assembler.h"

namespace cubejit {

struct LaneSumBlock {
  int lanes = 16;
  int src = 0, dst = 0;       ///< scalar registers: first row, first sum
  std::int64_t srcPitch = 0;  ///< bytes
  int rows = 16;              ///< 1 to `lanes`
};

void laneSums(VectorAssembler& a, const LaneSumBlock& block);

}  // namespace cubejit
