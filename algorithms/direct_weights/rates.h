// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rates that candidates and costs of the direct weight gradient go by, each measured as its comment says. Leaves
// those of several rooms to the kit.
#pragma once

#include <cstdint>

#include "algorithms/kit/rates.h"

namespace cubejit {

/// Pixels of the big tensor that taps read for each pixel of the small one, along an axis and in all: strides pass over some.
inline std::int64_t readPerOutput(const ConvView& v, int axis) {
  return std::min(v.kernel[axis], v.stride[axis] / std::gcd(v.stride[axis], v.dilation[axis]));
}
inline std::int64_t readPerOutput(const ConvView& v) {
  return readPerOutput(v, 0) * readPerOutput(v, 1) * readPerOutput(v, 2);
}
/// The same for data that is re-read at once: it may stay in L1.
inline double reuseBytesPerCycle(const Machine& m, double bytes) {
  return bytes <= keptByL1(m) ? m.rates.l1BytesPerCycle : bytesPerCycle(m, bytes, false);
}
/// dW, lanes read from memory one line of each pixel at a time: cycles of a line, of pixels of four lines or fewer. Prefetchers follow
/// two lines side by side, but not one of four (64 x 64 channels, 51 MB: 56 cycles; 64 x 256: 17).
constexpr double kLonelyLineCycles = 20.0;
constexpr double kFewLines = 4.0;
/// dW, an operand of f32 read where it lies, pixels a multiple of this many bytes apart: its lines share few sets of L1 (and of L2) and
/// come from beyond one by one. Zen5 waits for each, and panels pay; Zen4 hides it, and they do not. With several taps along W
/// 512 bytes are enough (1x3 and 3x3 taps, 128 to 512 channels: 1.1 to 1.5 cycles), with one tap it takes a page (1024 and 2048
/// channels: 0.6 to 2.2 cycles a line of rows, 0.1 to 0.4 a vector of lanes).
constexpr std::int64_t kCrowdedPitch = 512, kCrowdedPitchOfOneTap = 4096;
constexpr double kCrowdedLanesOfOneTap = 0.2;
inline double crowdedLineCycles(const Machine& m) {
  constexpr double kHidden = 1.5;
  return m.rates.lonelyLines > kHidden ? 64.0 / m.rates.l2BytesPerCycle * (m.rates.lonelyLines - 1.0) : 0.0;
}
/// Whether pixels lie that far apart: `pitchOfOneTap` bytes or a multiple, with several taps along W kCrowdedPitch.
inline bool farApart(const ConvView& v, const TensorView& t, std::int64_t pitchOfOneTap) {
  const std::int64_t pitch = v.kernel.w > 1 ? kCrowdedPitch : pitchOfOneTap;
  return t.channelsLast && t.c0 == 0 && t.wStride % pitch == 0;
}
inline bool crowds(const Machine& m, const ConvView& v, const TensorView& t) {
  return farApart(v, t, kCrowdedPitchOfOneTap) && crowdedLineCycles(m) > 0;
}
/// Cycles that a dW kernel waits for each vector of pairs it forms from lines that far apart: L1 keeps none of them for the next block of
/// rows. With one tap along W half a page is enough (Zen5, 1024 channels: a panel is 1.2 times as fast; 512: level).
constexpr std::int64_t kCrowdedPitchOfPairs = 2048;
inline double pairWaitCycles(const Machine& m, const ConvView& v, const TensorView& t) {
  return farApart(v, t, kCrowdedPitchOfPairs) ? 64.0 / m.rates.l2BytesPerCycle : 0.0;
}
/// dW tiles, measured the same way: cycles of a line of lanes (a vector that is waited for stops the step) and of rows that come from L2, and
/// how much longer they take if the part of the reduction block is larger than L2.
constexpr double kLaneLineCycles = 3.0;
constexpr double kRowLineOfTileCycles = 0.5;
constexpr double kFarLines = 3.0;
/// Share of what L1 keeps that a tile's lines may be and not come from L2.
constexpr double kLinesOfL1 = 0.85;
/// dW with several taps along W whose lanes stream past inside the loop over rows, not outside: how much longer (Zen5, 20 layers).
constexpr double kStreamedLanes = 1.015;
/// dW, how much more work the largest part may have than the mean and count as even: the rates of tiles were fitted without.
constexpr double kEvenParts = 1.05;
/// dW, a vector of sums that its only pass completes: storing it to L1. And what unpacking takes longer where sums come from L2.
constexpr double kSumCyclesAtOnce = 1.5;
constexpr double kFarSumCycles = 4.0;
/// Storing to one more row of a weight gradient larger than L2 (measured on 1x1 layers with 4 MB of weights; it may be twice as much).
constexpr double kFarRowCycles = 30.0;
/// Loads that widen 16-bit vectors on the way, in ordinary ones.
constexpr double kWidenedLoads = 2.0;
/// Share of L2 that accumulators of a dW task may take; its operands stream through the rest.
constexpr double kPrivateShare = 0.35;
/// Storing a line of one more row at once, of rows that lie on pages of their own (dW of a layer of few pixels: 8 cycles a line of one
/// row, 9.5 of two, 19 of eight, 29 of sixteen).
constexpr double kRowOfLineCycles = 1.4;
/// dW with few channels that are rows: what passes through L2 while panels of a reduction block are filled, in panels. First layers on Zen5,
/// smaller reduction blocks: 7x7 of 2D 1.13 times as fast in f16, 3x3x3 with strides 1.2 in bf16; wider layers do not care.
constexpr double kPanelsAndSources = 1.5;
constexpr std::int64_t kFewRowChannels = 8;
/// What a reduction block of pixels costs before its panels' sources stream (ResNet-50's 1x1 layers in bf16, reduction blocks of 200 to 2264 pixels).
constexpr double kColdBlockCycles = 3000.0;
/// A vector of lanes that a first block of rows copies for the others: what waiting for it and storing it add. At least so many blocks
/// of rows read the copies.
constexpr double kFirstUseCycles = 2.0;
/// A line of such copies that L1 does not keep, and the share of their streaming that is not hidden: they follow each other.
constexpr double kCopiedLineCycles = 1.0;
constexpr double kCopiedStreams = 0.8;
constexpr std::int64_t kFewestCopiedUses = 8;
/// Share of L2 that the copies of a block may take.
constexpr double kCopiesShare = 0.125;
/// A kernel's way from one repetition to the next.
constexpr double kRepeatCycles = 15.0;

}  // namespace cubejit
