// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the small arithmetic that candidates and costs on the host share: equal cuts, register budgets, cache residency.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/work.h"
#include "cubejit/machine.h"
#include "cubejit/microkernel_registers.h"

namespace cubejit {

constexpr std::int64_t divUp(std::int64_t a, std::int64_t b) { return b <= 0 ? 0 : (a + b - 1) / b; }

/// Length of the pieces when `extent` is cut into as few pieces of at most `limit` as possible, made nearly equal.
constexpr std::int64_t equalPiece(std::int64_t extent, std::int64_t limit) {
  if (extent <= 0 || limit <= 0) return 1;
  return divUp(extent, divUp(extent, limit));
}

/// Pixels of the big tensor that taps read for each pixel of the small one, along an axis and in all: strides pass over some.
inline std::int64_t readPerOutput(const ConvView& v, int axis) {
  return std::min(v.kernel[axis], v.stride[axis] / std::gcd(v.stride[axis], v.dilation[axis]));
}
inline std::int64_t readPerOutput(const ConvView& v) {
  return readPerOutput(v, 0) * readPerOutput(v, 1) * readPerOutput(v, 2);
}

/// Vector registers of microkernels with, or without, vectors of fewer lanes.
inline std::int64_t usableRegisters(const Machine& m, bool masks) {
  MicrokernelRegisters of;
  of.masks = masks;
  return registersThere(of, m.isa);
}

/// Share of the last-level cache to count on: other processes (on this kind of machine, other tenants) use it too.
constexpr double kOwnL3 = 0.3;

/// Share of L2 that data a core works on may take and be found there again.
constexpr double kL2Share = 0.75;

/// True if data that all cores work on comes from memory.
inline bool isFar(const Machine& m, double bytes) { return bytes > kOwnL3 * static_cast<double>(m.buffers.l2Bytes); }

/// Whether a tensor whose pixels are each read for several results comes from memory; and one whose planes are.
inline bool farOperand(const ConvView& v, const TensorView& t, const Machine& m) {
  return v.taps() > 1 && isFar(m, static_cast<double>(t.bytes));
}
inline bool farVolume(const ConvView& v, const TensorView& t, const Machine& m) {
  return v.kernel.d > 1 && farOperand(v, t, m);
}

/// Whether asking for the lines of such a tensor a block ahead pays: those that the last cache has, too, if no stride makes several
/// residue classes ask for the same ones and L1 keeps a block's rows besides (Zen 5, f32 and bf16, 3x3 and 3x3x3 layers of 2 to 8 MB: 1.0
/// to 1.18 times as fast; 1 MB: 0.95 to 1.01; 3 MB with stride 2: 0.95; 256 channels and more: 0.99).
inline bool comesLate(const ConvView& v, const TensorView& t, const Machine& m) {
  constexpr std::int64_t kNarrowPixel = 512;
  const bool fits = v.stride.volume() == 1 && t.wStride <= kNarrowPixel;
  return farOperand(v, t, m) || (v.taps() > 1 && fits && t.bytes > 2 * m.buffers.l1Bytes);
}

/// How many vectors of this ISA a core takes in the cycles of a whole one.
inline double vectorsAtOnce(const Machine& m) { return m.isa.lanes() < 16 ? m.rates.halfVectors : 1.0; }

/// Bytes per cycle one core gets from the level that holds `bytes` of data it works on.
inline double bytesPerCycle(const Machine& m, double bytes, bool shared) {
  if (bytes <= kL2Share * static_cast<double>(m.buffers.l1Bytes)) return m.rates.l2BytesPerCycle;
  const double l3 = kOwnL3 * static_cast<double>(m.buffers.l2Bytes);
  if (bytes <= (shared ? l3 : l3 / m.cores)) return m.rates.l3BytesPerCycle;
  return m.rates.dramBytesPerCycle;
}

/// Bytes that L1 keeps for data that is read again.
inline double keptByL1(const Machine& m) { return m.rates.l1Share * static_cast<double>(m.buffers.l0aBytes); }

/// The same for data that is re-read at once: it may stay in L1.
inline double reuseBytesPerCycle(const Machine& m, double bytes) {
  return bytes <= keptByL1(m) ? m.rates.l1BytesPerCycle : bytesPerCycle(m, bytes, false);
}

/// What moving a tensor to or from panels of f32 takes: moves for a run of pixels, vectors (those of narrow blocks half empty),
/// cycles for each.
inline double panelPieces(const TensorView& t) { return t.c0 > 0 ? static_cast<double>(divUp(t.channels, t.c0)) : 1.0; }
inline double panelVectors(const TensorView& t) {
  const double elements = static_cast<double>(t.bytes) / static_cast<double>(byteSize(t.dtype));
  return t.c0 > 0 ? elements / static_cast<double>(std::min<std::int64_t>(t.c0, 16)) : elements / 16.0;
}
inline double panelCycles(const TensorView& t, const Machine& m) {
  return t.channelsLast || t.c0 > 0 ? m.rates.copyCycles : m.rates.transposeCycles;
}
/// How much longer moves to plain planes take that share sets of L1 (Zen 5: 64 channels of 32x32 and 64x64, 1.45; of 36x36 and 60x60, 1).
inline double crowdedPlanes(const TensorView& t) {
  return !t.channelsLast && t.c0 == 0 && t.cStride % 4096 == 0 ? 1.45 : 1.0;
}
/// Cycles that a kernel of dX waits for a line of a far tensor that it reads where it lies (Zen 5: 3D U-Net's large layers 11 to 15;
/// 64 channels, 3x3, 224 and 256 pixels: 10 to 12).
constexpr double kFarLineCycles = 12.0;
/// The same if it asks for them ahead.
constexpr double kAskedLineCycles = 1.0;
/// Share of L1 that the weights of a block, with a box's operand and results, may take and still be found there by the next box (Zen 5:
/// of 24 KiB 1 to 8 % faster, of 36 KiB 6 % slower than from L2).
constexpr double kKeptWeights = 0.5;
/// Channel-lane dX, measured with --plan over the boxes of 1x1 layers: cycles of a dY line (one row, 16 channels) that are not
/// hidden, of a result line, of a result line when a box has more of them than the core has miss buffers, and of a cold task.
constexpr double kRowLineCycles = 1.0;
/// The same if the next sixteen channels lie a block further on (Zen 5: 3x3 layers of 256 and 512 channels, 3 % slower than panels).
constexpr double kBlockLineCycles = 1.5;
constexpr double kResultLineCycles = 3.0;
constexpr double kCrowdedLineCycles = 16.0;
constexpr double kTaskCycles = 1500.0;
/// A task with few weights finds less of them cold: cycles of any, and of each line of weights.
constexpr double kSmallTaskCycles = 700.0;
constexpr double kColdLineCycles = 4.0;
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
/// Broadcasts of data beyond L2, bytes a cycle: one line at a time (measured on 1x1 layers with 1 MB of weights).
constexpr double kBroadcastBytesPerCycle = 2.0;
/// Distance of channel planes from which reading a few rows of each costs a TLB miss and an unforeseen line.
constexpr std::int64_t kFarPlaneBytes = 2 * 1024 * 1024;
/// Result channels up to which summing lanes at the end (a tree of shuffles a result) is worth a look.
constexpr std::int64_t kMostReducedResults = 8;
/// Lanes of reduced channels: how much longer a box takes whose rows do not stay in L1 with what is asked for ahead.
constexpr double kCrowdedStreams = 1.15;
/// Share of the shorter of computing and streaming that the longer one does not hide.
constexpr double kExposed = 0.3;
/// dW tiles, measured the same way: cycles of a line of lanes (a late vector stops the step) and of rows that come from L2, and
/// how much longer they take if the part of the chunk is larger than L2.
constexpr double kLaneLineCycles = 3.0;
constexpr double kRowLineOfTileCycles = 0.5;
constexpr double kFarLines = 3.0;
/// Share of what L1 keeps that a tile's lines may be and not come from L2.
constexpr double kLinesOfL1 = 0.85;
/// dW with several taps along W whose lanes stream past inside the loop over rows, not outside: how much longer (Zen5, 20 layers).
constexpr double kStreamedLanes = 1.015;
/// dW, how much more work the largest part may have than the mean and count as even: the rates of tiles were fitted without.
constexpr double kEvenParts = 1.05;
/// dW, a vector of sums that its only visit completes: storing it to L1. And what unpacking takes longer where sums come from L2.
constexpr double kSumCyclesAtOnce = 1.5;
constexpr double kFarSumCycles = 4.0;
/// Storing to one more row of a weight gradient larger than L2 (measured on 1x1 layers with 4 MB of weights; it may be twice as much).
constexpr double kFarRowCycles = 30.0;
/// Loads that widen 16-bit vectors on the way, in ordinary ones.
constexpr double kWidenedLoads = 2.0;
/// Storing a vector of partial sums, loading it again and summing its lanes.
constexpr double kLaneSumCycles = 4.0;
/// Share of L2 that accumulators of a dW task may take; its operands stream through the rest.
constexpr double kPrivateShare = 0.35;
/// Storing a line of one more row at once, of rows that lie on pages of their own (dW of a layer of few pixels: 8 cycles a line of one
/// row, 9.5 of two, 19 of eight, 29 of sixteen).
constexpr double kRowOfLineCycles = 1.4;
/// dW with few channels that are rows: what passes through L2 while panels of a chunk are filled, in panels. First layers on Zen5,
/// smaller chunks: 7x7 of 2D 1.13 times as fast in f16, 3x3x3 with strides 1.2 in bf16; wider layers do not care.
constexpr double kPanelsAndSources = 1.5;
constexpr std::int64_t kFewRowChannels = 8;
/// What a chunk of pixels costs before its panels' sources stream (ResNet-50's 1x1 layers in bf16, chunks of 200 to 2264 pixels).
constexpr double kColdChunkCycles = 3000.0;
/// A vector of lanes that a first block of rows copies for the others: what waiting for it and storing it add. At least so many blocks
/// of rows read the copies.
constexpr double kTouchCycles = 2.0;
/// A line of such copies that L1 does not keep, and the share of their streaming that is not hidden: they follow each other.
constexpr double kCopiedLineCycles = 1.0;
constexpr double kCopiedStreams = 0.8;
constexpr std::int64_t kFewestTouches = 8;
/// dX: taps whose vectors of weights are held at once, so that they share scalars; each takes a register from the results.
constexpr std::int64_t kMostSharedTaps = 5;
/// Multiply-adds of an iteration that are spelled out for them: as many as take 5 KB.
constexpr std::int64_t kSharedUses = 680;
/// Share of L2 that the copies of a block may take.
constexpr double kCopiesShare = 0.125;
/// A kernel's way from one repetition to the next.
constexpr double kRepeatCycles = 15.0;
/// Entering a kernel from the nest walk, and one segment of its list.
constexpr double kCallCycles = 70.0;
constexpr double kSegmentCycles = 9.0;

/// How much longer the slowest core works than the average one, if `tasks` equal tasks are dealt out.
inline double imbalance(double tasks, int cores) {
  if (tasks <= 0) return 1.0;
  const double rounds = static_cast<double>(divUp(static_cast<std::int64_t>(tasks), cores));
  return rounds * cores / tasks;
}
/// The same for `copies` extents that are each cut into whole pieces and a smaller last one: `pieces` of them, a real number.
inline double imbalance(double copies, double pieces, int cores) {
  const double whole = std::floor(pieces + 1e-9), rest = std::max(0.0, pieces - whole), full = copies * whole;
  const double rounds = std::ceil(full / cores), idle = rounds * cores - full;
  const double late = rest > 1e-9 ? std::max(0.0, copies - idle * std::floor(1.0 / rest)) : 0.0;
  return (rounds + std::ceil(late / cores) * rest) * cores / (copies * pieces);
}

/// Cycles of the slowest core, if `busy` cycles of a contraction in copies x pieces tasks are dealt out.
inline double dealtCycles(const ConvView& v, double busy, double copies, double pieces, const Machine& m,
                          double cyclesOfTask) {
  pieces = std::max(1.0, pieces);
  const double tasks = copies * std::ceil(pieces), cores = m.cores;
  if (multiplyAddVectors(v, m.isa.lanes()) < kWakeCycles || tasks <= 0) return busy + tasks * cyclesOfTask;
  const double spread = tasks >= 8 * cores ? 1.0 + cores / tasks : imbalance(copies, pieces, m.cores);
  return (busy * spread + tasks * cyclesOfTask) / cores;
}

}  // namespace cubejit
