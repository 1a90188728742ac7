// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the 64 bytes of a tile.cfg say. Source: Intel's Software Developer's Manual, LDTILECFG: byte 0 is the palette, byte 1 the row
// to begin with, 16-bit words from byte 16 on are bytes a row, bytes from byte 48 on are rows, of one tile each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cubejit/matrix_unit.h"

namespace cubejit {

inline constexpr int kTileRegs = kAmxBf16.tiles, kMostTileRows = kAmxBf16.rows,
                     kMostTileRowBytes = static_cast<int>(kAmxBf16.rowBytes);

/// Rows, and bytes of each. Both 0: the tile is not configured.
struct TileShape {
  int rows = 0, rowBytes = 0;
  friend bool operator==(const TileShape& a, const TileShape& b) = default;
};

struct TileConfig {
  std::array<TileShape, kTileRegs> tiles;
  const TileShape& operator[](int tile) const { return tiles[static_cast<std::size_t>(tile)]; }
  TileShape& operator[](int tile) { return tiles[static_cast<std::size_t>(tile)]; }
};

/// A constant of a VectorProgram of 512 bits: 16 words.
std::vector<std::int32_t> wordsOf(const TileConfig& config);

/// What the words configure. Precondition: there are 16.
TileConfig tileConfigOf(const std::vector<std::int32_t>& words);

/// The rules that words break, those for which the instruction faults and that every configured row is of whole words; with "; " between
/// them; empty: none.
std::string brokenTileRules(const std::vector<std::int32_t>& words);

}  // namespace cubejit
