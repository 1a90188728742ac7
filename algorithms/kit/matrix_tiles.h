// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides, for every room, how large the tiles of a host's matrix unit are, which blocks of them are looked at, and what products cost.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cubejit/dtype.h"
#include "cubejit/host_isa.h"
#include "tiling/rounding.h"

namespace cubejit {

inline constexpr std::int64_t kTileRows = kAmxBf16.rows, kTileColumns = kAmxBf16.rowBytes / 4,
                              kTilePairs = kTileColumns;

/// Tiles that so many rows of a block take.
inline std::int64_t rowTiles(std::int64_t rows) { return ceilDiv(rows, kTileRows); }

/// The products that sum up so many pairs: few of them, of equally many pairs each. Zeros in both panels are the pairs that this is too many.
/// Precondition: there is one.
struct PairProducts {
  explicit PairProducts(std::int64_t pairs)
      : count(ceilDiv(pairs, kTilePairs)), each(ceilDiv(pairs, count)), zeros(count * each - pairs) {}
  std::int64_t count, each, zeros;
};

/// Blocks of sums worth a look: tiles along rows, along columns.
inline constexpr std::array<std::array<std::int64_t, 2>, 4> kTileBlocks{{{2, 2}, {1, 3}, {3, 1}, {1, 1}}};

/// A block of tiles: means over blocks. `rowLoads`: accesses that a row of A's tiles takes, two where rows straddle lines.
struct TileBlockSize {
  double rowTiles = 1, columnTiles = 1, rowLoads = 1;
};

/// Cycles of one core for `calls` calls with `steps` steps in all, each a product a tile: products, or loads where those take longer; storing the
/// sums, and configuring tiles at each call. A tile's next product waits for its last one (Intel's Optimization Reference Manual, chapter 20;
/// configuring: some 200 cycles; not measured here). Precondition: the ISA multiplies the type in tiles.
inline double matrixUnitCycles(const HostIsa& isa, DType type, const TileBlockSize& block, double steps, double calls) {
  constexpr double kConfigureCycles = 200, kLatencyCycles = 52;
  const MatrixUnit& unit = *isa.matrixUnit();
  const double tiles = block.rowTiles * block.columnTiles, loads = block.rowTiles * block.rowLoads + block.columnTiles,
               step = std::max({tiles * isa.matrixProduct(type)->cycles, loads * unit.loadCycles, kLatencyCycles});
  return steps * step + calls * (tiles * unit.storeCycles + kConfigureCycles);
}

}  // namespace cubejit
