// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what products on a host's matrix unit cost, of every room that has them.
#pragma once

#include <algorithm>

#include "cubejit/dtype.h"
#include "cubejit/host_isa.h"

namespace cubejit {

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
