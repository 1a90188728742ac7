// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rates that candidates and costs of the direct data gradient go by, each measured as its comment says. Leaves
// those of several rooms to the kit.
#pragma once

#include <cstdint>

#include "algorithms/kit/rates.h"

namespace cubejit {

/// Whether a tensor whose pixels are each read for several results comes from memory; and one whose planes are.
inline bool farOperand(const ConvView& v, const TensorView& t, const Machine& m) {
  return v.taps() > 1 && isFar(m, static_cast<double>(t.bytes));
}
inline bool farVolume(const ConvView& v, const TensorView& t, const Machine& m) {
  return v.kernel.d > 1 && farOperand(v, t, m);
}
/// Whether prefetching the lines of such a tensor a block ahead pays: those that the last cache has, too, if no stride makes several
/// residue classes prefetch the same ones and L1 keeps a block's rows besides (Zen 5, f32 and bf16, 3x3 and 3x3x3 layers of 2 to 8 MB: 1.0
/// to 1.18 times as fast; 1 MB: 0.95 to 1.01; 3 MB with stride 2: 0.95; 256 channels and more: 0.99).
inline bool comesFromMemory(const ConvView& v, const TensorView& t, const Machine& m) {
  constexpr std::int64_t kNarrowPixel = 512;
  const bool fits = v.stride.volume() == 1 && t.wStride <= kNarrowPixel;
  return farOperand(v, t, m) || (v.taps() > 1 && fits && t.bytes > 2 * m.buffers.l1Bytes);
}
/// What the pixels of a cache block take in each plane of a plain tensor before its lines stream: they are on a page of their own (Zen 5, 1x1 layers
/// of 64 to 80 channels, 120x120 to 128x128 pixels, blocks of 144 to 576: 49 to 107 cycles).
constexpr double kPlaneRunCycles = 55.0;
/// Cycles that a kernel of dX waits for a line of a far tensor that it reads where it lies (Zen 5: 3D U-Net's large layers 11 to 15;
/// 64 channels, 3x3, 224 and 256 pixels: 10 to 12).
constexpr double kFarLineCycles = 12.0;
/// The same if it is prefetched.
constexpr double kPrefetchedLineCycles = 1.0;
/// Share of L1 that the weights of a block, with a box's operand and results, may take and still be found there by the next box (Zen 5:
/// of 24 KiB 1 to 8 % faster, of 36 KiB 6 % slower than from L2).
constexpr double kKeptWeights = 0.5;
/// vectorize = output_channels, measured with --plan over the boxes of 1x1 layers: cycles of a dY line (one row, 16 channels) that are not
/// hidden, of a result line, and of one when a box has more of them than the core has miss buffers.
constexpr double kRowLineCycles = 1.0;
/// The same if the next sixteen channels lie a block further on (Zen 5: 3x3 layers of 256 and 512 channels, 3 % slower than panels).
constexpr double kBlockLineCycles = 1.5;
constexpr double kResultLineCycles = 3.0;
constexpr double kCrowdedLineCycles = 16.0;
/// Bytes between the pixels of one of the two tensors that a box takes side by side along W: of the big one it takes every stride-th.
inline std::int64_t pitchAlongW(const ConvView& v, bool big) {
  const TensorView& t = big ? v.big : v.small;
  return (v.oneAxisOnH ? t.hStride : t.wStride) * (big ? v.stride[v.oneAxisOnH ? 1 : 2] : 1);
}
/// What a scalar costs beside its multiply-add when a box's rows share so few sets of L1 that they push each other out, as they do from
/// twice as many rows as there is room for (Zen 4: 25 rows 8 KiB apart 3.2, 13 rows 0.7).
constexpr double kCrowdedScalarCycles = 3.3;
/// vectorize = input_channels: the same for a vector (Zen 4: 25 rows 4104 bytes apart), and the share of the time in which weights stream by that
/// multiply-adds do not hide (Zen 4: 512 taps of 128 channels, boxes of 6 and 24).
constexpr double kCrowdedVectorCycles = 3.0;
constexpr double kExposedWeights = 0.7;
/// The same for each residue class of a cache block: calls for its few results, whose sums the next ones wait for (Zen 5: blocks of 6 to 96 pixels with
/// 5 classes, 650; of 3 to 18 with 16 classes, 500).
constexpr double kClassOfBlockCycles = 600.0;
/// A task with few weights finds less of them cold: cycles of any, and of each line of weights.
constexpr double kSmallTaskCycles = 700.0;
constexpr double kColdLineCycles = 4.0;
/// Result channels up to which summing lanes at the end (a tree of shuffles a result) is worth a look.
constexpr std::int64_t kMostInputChannelResults = 8;
/// Storing a vector of partial sums, loading it again and summing its lanes.
constexpr double kLaneSumCycles = 4.0;
/// dX: taps whose vectors of weights are held at once, so that they use a broadcast together; each takes a register from the results.
constexpr std::int64_t kMostBroadcastTaps = 5;
/// Multiply-adds of an iteration that are spelled out for them: as many as take 5 KB.
constexpr std::int64_t kBroadcastUses = 680;

}  // namespace cubejit
