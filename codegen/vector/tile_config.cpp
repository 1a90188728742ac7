// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/vector/tile_config.h"

#include <cstring>

namespace cubejit {
namespace {

constexpr std::size_t kBytes = 64, kRowBytesAt = 16, kRowsAt = 48;
using Bytes = std::array<std::uint8_t, kBytes>;

Bytes bytesOf(const std::vector<std::int32_t>& words) {
  Bytes bytes{};
  std::memcpy(bytes.data(), words.data(), kBytes);
  return bytes;
}

}  // namespace

std::vector<std::int32_t> wordsOf(const TileConfig& config) {
  Bytes bytes{};
  bytes[0] = 1;  // the palette of AMX
  for (std::size_t t = 0; t < kTileRegs; ++t) {
    bytes[kRowBytesAt + 2 * t] = static_cast<std::uint8_t>(config.tiles[t].rowBytes);
    bytes[kRowsAt + t] = static_cast<std::uint8_t>(config.tiles[t].rows);
  }
  std::vector<std::int32_t> words(kBytes / 4);
  std::memcpy(words.data(), bytes.data(), kBytes);
  return words;
}

TileConfig tileConfigOf(const std::vector<std::int32_t>& words) {
  const Bytes bytes = bytesOf(words);
  TileConfig config;
  for (std::size_t t = 0; t < kTileRegs; ++t)
    config.tiles[t] = {bytes[kRowsAt + t], bytes[kRowBytesAt + 2 * t] | bytes[kRowBytesAt + 2 * t + 1] << 8};
  return config;
}

std::string brokenTileRules(const std::vector<std::int32_t>& words) {
  const Bytes bytes = bytesOf(words);
  std::string broken;
  const auto require = [&](bool holds, const std::string& field, int value, const std::string& rule) {
    if (!holds) broken += (broken.empty() ? "" : "; ") + field + " " + std::to_string(value) + " " + rule;
  };
  require(bytes[0] == 1, "palette", bytes[0], "is not 1");
  require(bytes[1] == 0, "first row", bytes[1], "is not 0");
  for (std::size_t i = 2; i < kBytes; ++i) {
    const bool used =
        (i >= kRowBytesAt && i < kRowBytesAt + 2 * kTileRegs) || (i >= kRowsAt && i < kRowsAt + kTileRegs);
    if (!used) require(bytes[i] == 0, "reserved byte " + std::to_string(i), bytes[i], "is not 0");
  }
  const TileConfig config = tileConfigOf(words);
  for (int t = 0; t < kTileRegs; ++t) {
    const TileShape& shape = config[t];
    const std::string tile = "t" + std::to_string(t);
    require(shape.rows <= kMostTileRows, "rows of " + tile, shape.rows, "are more than 16");
    require(shape.rowBytes <= kMostTileRowBytes, "bytes a row of " + tile, shape.rowBytes, "are more than 64");
    require(shape.rowBytes % 4 == 0, "bytes a row of " + tile, shape.rowBytes, "are no whole words");
    require((shape.rows == 0) == (shape.rowBytes == 0), "rows of " + tile, shape.rows,
            "have " + std::to_string(shape.rowBytes) + " bytes each: both must be 0, or none");
  }
  return broken;
}

}  // namespace cubejit
