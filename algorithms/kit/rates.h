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

/// How many vectors of this ISA a core takes in the cycles of a whole one.
inline double vectorsAtOnce(const Machine& m) { return m.isa.lanes() < 16 ? m.rates.halfVectors : 1.0; }

/// Multiply-adds of whole vectors, or dot products, that start in a cycle.
inline double fmasPerCycle(const Machine& m, bool dots) { return dots ? m.rates.dotPerCycle : m.rates.fmaPerCycle; }

/// Cycles of multiply-adds (or dot products), and of loads, of vectors of this ISA. To broadcast a scalar takes as long whatever the vector's width.
inline double fmaCycles(const Machine& m, double vectors, bool dots = false) {
  return vectors / fmasPerCycle(m, dots) / vectorsAtOnce(m);
}
inline double loadCycles(const Machine& m, double vectors, double scalars) {
  return vectors * m.rates.vectorLoadCycles / vectorsAtOnce(m) + scalars * m.rates.broadcastCycles;
}

/// Cycles from a multiply-add to the next one of the same sum.
constexpr double kSumLatency = 4.0;

/// Bytes per cycle one core gets from the level that holds `bytes` of data it works on.
inline double bytesPerCycle(const Machine& m, double bytes, bool shared) {
  if (bytes <= kL2Share * static_cast<double>(m.buffers.l1Bytes)) return m.rates.l2BytesPerCycle;
  const double l3 = kOwnL3 * static_cast<double>(m.buffers.l2Bytes);
  if (bytes <= (shared ? l3 : l3 / m.cores)) return m.rates.l3BytesPerCycle;
  return m.rates.dramBytesPerCycle;
}

/// Bytes that L1 keeps for data that is read again.
inline double keptByL1(const Machine& m) { return m.rates.l1Share * static_cast<double>(m.buffers.l0aBytes); }

/// How many of `lines` lines `pitch` bytes apart L1 has room for. A way of it is a page: lines whole pages apart share a set, those nearly so
/// few.
inline double linesOfL1(const Machine& m, std::int64_t pitch, double lines) {
  constexpr std::int64_t kPage = 4096, kLine = 64;
  const std::int64_t past = pitch % kPage, apart = std::min(past, kPage - past);
  const double sets = apart < kLine ? std::max(1.0, lines * static_cast<double>(apart) / kLine)
                                    : static_cast<double>(kPage / std::gcd(apart, kPage));
  return std::min(sets, static_cast<double>(kPage / kLine)) * static_cast<double>(m.buffers.l0aBytes / kPage);
}

/// What moving a tensor to or from panels of f32 takes: moves for a run of pixels, vectors (those of narrow blocks half empty),
/// cycles for each.
inline double panelPieces(const TensorView& t) { return t.c0 > 0 ? static_cast<double>(divUp(t.channels, t.c0)) : 1.0; }
inline double panelVectors(const TensorView& t) {
  const double elements = static_cast<double>(t.bytes) / static_cast<double>(byteSize(t.dtype));
  return t.c0 > 0 ? elements / static_cast<double>(std::min<std::int64_t>(t.c0, 16)) : elements / 16.0;
}
/// Whether a panel takes so few channels of a pixel that pairs of several pixels are formed at a time.
inline bool shortPixels(const TensorView& t, std::int64_t channels) {
  constexpr std::int64_t kMostChannels = 7;
  return t.c0 == 0 && channels <= kMostChannels;
}
inline double panelCycles(const TensorView& t, const Machine& m) {
  return t.plain() ? m.rates.transposeCycles : m.rates.copyCycles;
}
/// The same of a panel of planes.
inline double turnedPanelCycles(const TensorView& t, const Machine& m) {
  return t.plain() ? m.rates.copyCycles : m.rates.transposeCycles;
}

/// How much longer moves to plain planes take that share sets of L1 (Zen 5: 64 channels of 32x32 and 64x64, 1.45; of 36x36 and 60x60, 1).
inline double crowdedPlanes(const TensorView& t) { return t.plain() && t.cStride % 4096 == 0 ? 1.45 : 1.0; }

/// Share of the shorter of computing and streaming that the longer one does not hide.
constexpr double kExposed = 0.3;

/// Entering a kernel from the nest walk, and one segment of its list.
constexpr double kCallCycles = 70.0;
constexpr double kSegmentCycles = 9.0;
/// What a segment takes beside its multiply-adds: where a core starts one of these a cycle, most other instructions run beside them (Zen 4: patch
/// embeddings whose segments have one or three steps take as long as their multiply-adds).
inline double segmentCycles(const Machine& m) { return kSegmentCycles * (m.rates.fmaPerCycle > 1 ? 1.0 : 0.25); }

/// How much longer the slowest core works than the average one, if `tasks` equal tasks are partitioned.
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

/// Whether a contraction is too small to wake other cores for.
inline bool runsOnOneCore(const ConvView& v, const Machine& m) {
  return multiplyAddVectors(v, m.isa.lanes()) < kWakeCycles;
}

/// Cycles of the slowest core, if `busy` cycles of a contraction in copies x pieces tasks are partitioned.
inline double partitionCycles(const ConvView& v, double busy, double copies, double pieces, const Machine& m,
                              double cyclesOfTask) {
  pieces = std::max(1.0, pieces);
  const double tasks = copies * std::ceil(pieces), cores = m.cores;
  if (runsOnOneCore(v, m) || tasks <= 0) return busy + tasks * cyclesOfTask;
  const double spread = tasks >= 8 * cores ? 1.0 + cores / tasks : imbalance(copies, pieces, m.cores);
  return (busy * spread + tasks * cyclesOfTask) / cores;
}

/// A cold task of a contraction: its weights, and code that it is the first to run.
constexpr double kTaskCycles = 1500.0;

}  // namespace cubejit
