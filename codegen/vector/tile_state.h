// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the tile ops of ops.def do, one element at a time, so that it can be checked by eye.
#pragma once

#include <array>
#include <cstdint>

#include "codegen/vector/tile_config.h"

namespace cubejit {

/// Eight tiles and their shapes. Preconditions as verify() of a VectorProgram checks them.
class TileState {
 public:
  void configure(const TileConfig& config);
  void release() { configure({}); }
  void zero(int dst) { tiles_[index(dst)] = {}; }
  void load(int dst, const char* at, std::int64_t pitch);
  void store(int src, char* at, std::int64_t pitch) const;
  void dot(int dst, int a, int b, bool f16);

 private:
  static constexpr int kWords = kMostTileRowBytes / 4;
  using Row = std::array<std::uint32_t, kWords>;
  using Tile = std::array<Row, kMostTileRows>;
  static std::size_t index(int tile) { return static_cast<std::size_t>(tile); }

  TileConfig config_;
  std::array<Tile, kTileRegs> tiles_{};
};

}  // namespace cubejit
