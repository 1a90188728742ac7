// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which bias belongs to a byte of y, for every layout: channels lie in blocks of neighbours, and blocks a distance apart.
// Distances add up as their channels do, so that cursors over biases move with those over y.
#pragma once

#include <cstdint>

#include "cubejit/index_map.h"
#include "cubejit/problem.h"

namespace cubejit {

/// A block of channels (plain tensors: a channel), and a channel in it. Channels may exceed the block: they are counted modulo its size.
struct ChannelPlace {
  std::int64_t block = 0, channel = 0;
};

/// Biases lie as f32, block after block, each followed by itself again and again, so that whole vectors are read from any channel on.
struct ResultChannels {
  std::int64_t element = 4;    ///< bytes of an element of y
  std::int64_t blockStep = 0;  ///< bytes between blocks
  std::int64_t blocks = 1;
  std::int64_t pixels = 1;  ///< of a block that lie side by side: between two blocks, or all there are
  std::int64_t each = 1;    ///< channels of a block; 1: all neighbours of an element have its channel
  std::int64_t pitch = 0;   ///< f32 that a block's biases take

  static ResultChannels of(const Problem& p) {
    const TensorFormat f = formatOf(p, TensorId::kY);
    ResultChannels r;
    r.element = byteSize(f.dtype);
    r.pixels = p.out.volume();
    if (f.layout == Layout::kNdhwc) {
      r.each = p.cout;
    } else if (f.layout == Layout::kNcdhw) {
      r.blocks = p.cout;
    } else {
      r.each = f.blockChannels();
      r.blocks = (p.cout + r.each - 1) / r.each;
      r.pixels = p.out.h * p.out.w;
    }
    if (r.pixels == 1) {  // blocks side by side are one
      r.each *= r.blocks;
      r.blocks = 1;
    }
    r.blockStep = r.pixels * r.each * r.element;
    if (r.blocks == 1) r.pixels = p.batch * p.out.volume();
    return r;
  }

  /// How far channels move over a distance in y, in bytes.
  ChannelPlace along(std::int64_t bytes) const {
    const auto floored = [](std::int64_t x, std::int64_t y) { return x >= 0 ? x / y : -((-x + y - 1) / y); };
    const auto rest = [&](std::int64_t x, std::int64_t y) { return x - floored(x, y) * y; };
    return {blocks == 1 ? 0 : rest(floored(bytes, blockStep), blocks), each == 1 ? 0 : rest(bytes / element, each)};
  }
  /// Bytes among the biases.
  std::int64_t biasAt(ChannelPlace place) const { return (place.block * pitch + place.channel) * 4; }
  std::int64_t biasAlong(std::int64_t bytes) const { return biasAt(along(bytes)); }
};

}  // namespace cubejit
