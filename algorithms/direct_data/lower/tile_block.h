// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the kernel of a register block in tiles, and the moves that put columns of zeros beside the rows of its panel. Leaves where panels lie
// to lower.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/direct_data/tiles.h"
#include "algorithms/kit/lower/builder.h"
#include "algorithms/kit/lower/operand.h"

namespace cubejit {

/// A block of pixels by `width` channels of dx: pixels lie `aPitch` bytes apart in dy and `cPitch` in the panel of dx; packed weights have
/// rows of `packedWidth` channels.
struct TileBlock {
  std::int64_t pixels = 1, width = 16, packedWidth = 16;
  std::int64_t pairs = 1;  ///< of channels of dy, a tap's whole sum
  std::int64_t aPitch = 0, cPitch = 0;
  DType type = DType::kBf16;
};
TileProduct productOf(const TileBlock& block);

/// Calls that zero the columns in all `rows` of the operand's panel, at whose begin `stream` stands.
std::vector<Node> zeroColumns(ProgramBuilder& b, const Operand& operand, const ZeroColumns& columns, std::int64_t rows,
                              int stream, int lanes);

}  // namespace cubejit
