// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a spatial plan of dX costs. A step multiplies the vectors of one operand row at one shift by the weights of every
// result row of the tile that it reaches.
#include <algorithm>
#include <cmath>

#include "algorithms/spatial/data_shape.h"
#include "algorithms/spatial/rates.h"
#include "algorithms/spatial/spatial.h"

namespace cubejit {
namespace {

// Cycles of a call between kernels or moves, of a vector that one stores, of a task, and of an element that leaves a panel of plain rows,
// transposed or one by one (Zen 5, depthwise layers with 3 to 49 taps, 28 to 1024 pixels a row: predicted within a third).
constexpr double kSpatialCallCycles = 45.0;
constexpr double kStoreCycles = 1.0;
constexpr double kSpatialTaskCycles = 300.0;
constexpr double kInterleaveCycles = 0.3, kScatterCycles = 1.5;
// A store to one of more planes than L1 has room for (Zen 4: 8 to 22 planes whole pages apart 2 to 15), lines of the operand beside it, and
// cycles of it that a multiply-add hides (27 taps hide all).
constexpr double kCrowdedStoreCycles = 5.0, kOperandLines = 2.0, kHidden = 0.2;
// A weight on its way to its place among those of a tile (AVX2, Zen 3: 2 where many of a tap lie side by side, 6 in depthwise layers).
constexpr double kPackCycles = 3.0;
// Loads begin anywhere in a line: so many more lines than vectors are read.
constexpr double kLinesOfVector = 1.25;

double f32Bytes(const TensorView& t) { return static_cast<double>(t.bytes / byteSize(t.dtype) * 4); }

class SpatialDataCosting {
 public:
  SpatialDataCosting(const Problem& problem, const SpatialDataPlan& plan, const Machine& m)
      : g_(problem), plan_(plan), m_(m) {
    lanes_ = m.isa.lanes();
    residues_ = static_cast<double>(g_.residues.size());
    reduced_ = static_cast<double>(g_.operand.channels);
    copies_ = static_cast<double>(g_.view.groups * g_.view.batch);
    tileRows_ = static_cast<double>(plan.registerH);
    const double vectorsAll = std::ceil(static_cast<double>(g_.longest) / lanes_),
                 blocks = std::ceil(vectorsAll / static_cast<double>(plan.registerVectors)),
                 channelBlocks =
                     std::ceil(static_cast<double>(g_.result.channels) / static_cast<double>(plan.registerChannels));
    channels_ = static_cast<double>(g_.result.channels) / channelBlocks;
    vectors_ = vectorsAll / blocks;
    double tapsW = 0;
    for (const ResidueClass& residue : g_.residues) {
      tapsW += static_cast<double>(residue.taps.size());
      shifts_ = std::max(shifts_, static_cast<double>(residue.taps.size()));
    }
    uses_ = g_.usesOfRow(plan.registerH);
    // Weights that a step of one reduction channel broadcasts.
    scalars_ = uses_ * (shifts_ > 0 ? tapsW / shifts_ : 1) * channels_;
    const double outerTaps = static_cast<double>(g_.insideTaps(0)) * static_cast<double>(g_.insideTaps(1));
    steps_ = copies_ * outerTaps * shifts_ * blocks * channelBlocks / uses_;
    calls_ =
        copies_ * static_cast<double>(g_.result.extent.d * g_.result.extent.h) * blocks * channelBlocks / tileRows_;
    cacheRows_ = static_cast<double>(plan.cache.h + (g_.view.kernel.h - 1) * g_.view.dilation.h);
    cachePlanes_ = static_cast<double>(plan.cache.d + (g_.view.kernel.d - 1) * g_.view.dilation.d);
  }

  PlanCost run() const {
    PlanCost cost;
    cost.computeCycles = compute() + planeLines();
    cost.callCycles = calls();
    cost.memoryCycles = memory();
    cost.packCycles = packing();
    cost.moveCycles = cost.packCycles + (plan_.packA ? staging() : 0) + (plan_.bufferC ? leaving() : 0);
    const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                        kExposed * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
    const double cacheBlocksH = static_cast<double>(g_.result.extent.h) / static_cast<double>(plan_.cache.h),
                 cacheBlocksD = std::ceil(static_cast<double>(g_.result.extent.d) / static_cast<double>(plan_.cache.d));
    cost.totalCycles = partitionCycles(g_.view, busy, copies_ * cacheBlocksD, cacheBlocksH, m_, kSpatialTaskCycles);
    cost.bound = cost.memoryCycles > cost.computeCycles ? "memory"
                 : cost.moveCycles > cost.computeCycles ? "move"
                                                        : "compute";
    return cost;
  }

 private:
  double compute() const {
    const double fma = fmaCycles(m_, scalars_ * vectors_);
    // Instructions beside the load of a 16-bit vector take turns with the FMAs.
    const double converted =
        plan_.packA || g_.operand.dtype == DType::kF32
            ? 0
            : vectors_ * (plan_.registerH > 1 && g_.operand.dtype == DType::kBf16 ? 1.0 : 0.7) / vectorsAtOnce(m_);
    const double loads = loadCycles(m_, vectors_ * kLinesOfVector, scalars_);
    // The next step waits for this one's sums, unless other rows' are at hand.
    const double latency = plan_.registerH > 1 ? 0.0 : kSumLatency;
    const double step = std::max({fma + converted, loads, latency}) + m_.rates.exposedLoads * loads;
    // Plain rows of the reduction channels are planes apart; a power-of-two distance makes them collide in L1.
    const bool collide =
        !plan_.packA && reduced_ > 1 && (g_.operand.cStride % 4096 == 0 || g_.operand.cStride >= kFarPlaneBytes);
    return steps_ * reduced_ * step * 1.02 * (collide ? 1.3 : 1.0);
  }

  // Bytes of the operand rows that a row of results reads: the next row's taps, and the next plane's, read most of them again.
  double keptBytes() const { return static_cast<double>(g_.view.kernel.d) * cacheRows_ * rowBytes(); }
  double rowBytes() const { return reduced_ * static_cast<double>(g_.operand.extent.w) * 4; }

  // What kernels wait for lines of plain rows that L1 does not keep: a step takes one of each channel's plane, and nothing foresees them.
  double planeLines() const {
    if (plan_.packA || reduced_ <= 1 || m_.rates.planeLines <= 0) return 0.0;
    const double lines = steps_ * reduced_ * vectors_ * lanes_ * 4 / 64.0;
    // L1 has no room for a line of each channel.
    if (reduced_ > linesOfL1(m_, g_.operand.cStride, reduced_))
      return lines * m_.rates.planeLines * 64.0 / bytesPerCycle(m_, rowBytes(), false);
    if (keptBytes() <= keptByL1(m_)) return 0.0;
    return lines / std::max(1.0, shifts_) * m_.rates.planeLines * 64.0 / bytesPerCycle(m_, keptBytes(), false);
  }

  double calls() const {
    // A segment is all taps along H and W, those along W if there is but one channel, or one tap.
    const double segments = plan_.registerH > 1       ? calls_ * static_cast<double>(g_.view.kernel.d)
                            : g_.operand.channels > 1 ? steps_
                                                      : steps_ / std::max(1.0, shifts_);
    return segments * kSegmentCycles + calls_ * (kSpatialCallCycles + (kStoreCycles + crowdedStore()) * tileRows_ *
                                                                          residues_ * channels_ * vectors_);
  }

  // Lines of more planes than L1 has room for, those of the operand besides, leave it before they are full.
  double crowdedStore() const {
    if (plan_.bufferC) return 0.0;
    const double lines = channels_ + kOperandLines, room = linesOfL1(m_, g_.result.cStride, lines);
    const double products = reduced_ * static_cast<double>(g_.view.taps());  // of a result, which hide some of it
    return std::max(0.0, kCrowdedStoreCycles * std::clamp((lines - room) / room, 0.0, 1.0) - kHidden * products);
  }

  double memory() const {
    const double rate = keptBytes() <= keptByL1(m_) ? m_.rates.l1BytesPerCycle
                                                    : bytesPerCycle(m_, cacheRows_ * cachePlanes_ * rowBytes(), false);
    const double operandBytes = static_cast<double>(g_.operand.bytes),
                 resultBytes = static_cast<double>(g_.result.bytes),
                 once = bytesPerCycle(m_, (operandBytes + resultBytes) / m_.cores, true);
    // Weights are broadcast from where all of them lie; past L2 a stream of broadcasts waits for every line.
    const double packed = static_cast<double>(g_.view.taps()) * reduced_ * static_cast<double>(g_.result.channels) * 4;
    const double weights = packed <= 0.5 * static_cast<double>(m_.buffers.l1Bytes) ? 16.0 : kBroadcastBytesPerCycle;
    return steps_ * reduced_ * vectors_ * lanes_ * 4 / std::max(1.0, shifts_) / rate +
           (operandBytes + 1.5 * resultBytes) / once + steps_ * reduced_ * scalars_ * 4 / weights;
  }

  double packing() const {
    return static_cast<double>(g_.view.groups * g_.view.taps() * g_.operand.channels * g_.result.channels) *
           kPackCycles;
  }

  double staging() const {
    const double reach = cacheRows_ * cachePlanes_ / static_cast<double>(plan_.cache.h * plan_.cache.d) *
                         (g_.gather ? 1.0 / static_cast<double>(g_.view.stride.h * g_.view.stride.d) : 1.0);
    return f32Bytes(g_.operand) * std::max(1.0, reach) *
           std::max((g_.operand.channelsLast ? m_.rates.transposeCycles : m_.rates.copyCycles) / 64.0,
                    1.0 / bytesPerCycle(m_, static_cast<double>(g_.operand.bytes), true));
  }

  double leaving() const {
    const double elements = f32Bytes(g_.result) / 4.0;
    if (g_.result.channelsLast) return elements * (2.0 / std::max(1.0, channels_) + 0.3);
    // The rows of a tile leave together, each channel by itself; short rows of uneven residue classes class by class.
    const bool even = g_.residues.front().count == g_.residues.back().count ||
                      static_cast<double>(g_.residues.back().count) >= 2.0 * lanes_;
    return elements * (even ? kInterleaveCycles : kScatterCycles) +
           calls_ * channels_ * kSpatialCallCycles * (even ? 1.0 : residues_);
  }

  const SpatialView g_;
  const SpatialDataPlan& plan_;
  const Machine& m_;
  double lanes_ = 16, residues_ = 1, reduced_ = 1, copies_ = 1;
  double tileRows_ = 1, channels_ = 1, vectors_ = 1;  ///< of a tile
  double shifts_ = 0, uses_ = 1, scalars_ = 1;
  double steps_ = 0, calls_ = 0;  ///< of one reduction channel; of kernels
  double cacheRows_ = 1, cachePlanes_ = 1;
};

}  // namespace

PlanCost spatialDataCost(const Problem& problem, const SpatialDataPlan& plan, const Machine& m) {
  return SpatialDataCosting(problem, plan, m).run();
}

}  // namespace cubejit
