// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the product of a block of tiles, and runs of zeros in panels, for every room that sums on a matrix unit.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/tile/program.h"
#include "cubejit/dtype.h"

namespace cubejit {

/// A block of sums whose tiles follow each other: rows of A, of B and of C lie equally far apart, in bytes; a segment's products, too.
struct TileBlock {
  std::int64_t rows = 1, cols = 16;
  std::int64_t pairs = 1;  ///< of one product
  DType type = DType::kBf16;
  std::int64_t aPitch = 0, bPitch = 0, cPitch = 0;
  std::string label;
};
TileProduct productOf(const TileBlock& block);

/// Zeros `bytes` bytes, an even number, where each segment of a list says, and in its repetitions `step` bytes apart.
Fill zeroRuns(int lanes, std::int64_t bytes, std::int64_t step, const std::string& label);

}  // namespace cubejit
