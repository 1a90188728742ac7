// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/vector/tile_state.h"

#include <cstring>

#include "codegen/tile/matrix_sums.h"
#include "cubejit/float16.h"

namespace cubejit {

void TileState::configure(const TileConfig& config) {
  config_ = config;
  tiles_ = {};
}

void TileState::load(int dst, const char* at, std::int64_t pitch) {
  Tile& tile = tiles_[index(dst)] = {};
  for (int r = 0; r < config_[dst].rows; ++r)
    std::memcpy(tile[index(r)].data(), at + r * pitch, static_cast<std::size_t>(config_[dst].rowBytes));
}

void TileState::store(int src, char* at, std::int64_t pitch) const {
  for (int r = 0; r < config_[src].rows; ++r)
    std::memcpy(at + r * pitch, tiles_[index(src)][index(r)].data(), static_cast<std::size_t>(config_[src].rowBytes));
}

void TileState::dot(int dst, int a, int b, bool f16) {
  const Tile &left = tiles_[index(a)], &right = tiles_[index(b)];
  Tile& sums = tiles_[index(dst)];
  for (int m = 0; m < config_[dst].rows; ++m)
    for (int n = 0; n < config_[dst].rowBytes / 4; ++n) {
      std::uint32_t& sum = sums[index(m)][index(n)];
      sum = bitsOf(
          twoChains(floatOf(sum), left[index(m)].data(), &right[0][index(n)], config_[a].rowBytes / 4, kWords, f16));
    }
}

}  // namespace cubejit
