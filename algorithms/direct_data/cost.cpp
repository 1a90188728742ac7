// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a data-gradient plan with channel lanes costs: FMA slots with their tails, loads, what streams from which cache,
// packing and panels, calls. Rates come from the machine; where constants were measured is said beside them, here and in kit/rates.h.
#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/direct_data/direct_data.h"
#include "algorithms/direct_data/panels.h"
#include "algorithms/direct_data/rates.h"
#include "algorithms/direct_data/sums.h"
#include "algorithms/direct_data/tiles.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/matrix_tiles.h"

namespace cubejit {
namespace {

class DirectDataCosting {
 public:
  DirectDataCosting(const Problem& problem, const DirectDataPlan& plan, const Machine& machine)
      : plan_(plan),
        m_(machine),
        oneAxis_(!plan.matrixUnit && makeConvView(problem, Pass::kDx).oneAxis),
        v_(makeConvView(problem, Pass::kDx, axisOf(plan))) {
    const DataSums total =
        dataSums(v_, oneAxis_ ? std::array<std::int64_t, 3>{1, plan.registerW, 1}
                              : std::array<std::int64_t, 3>{plan.registerD, plan.registerH, plan.registerW});
    lanes_ = m_.isa.lanes();
    vectors_ = static_cast<double>(plan.registerVectors);
    reduced_ = static_cast<double>(operand().words(plan.dotProducts));  // a dot product takes two reduction channels
    channels_ = static_cast<double>(result().channels);
    nBlocks_ = std::ceil(channels_ / (lanes_ * vectors_));
    meanVectors_ = std::ceil(channels_ / lanes_) / nBlocks_;
    groups_ = static_cast<double>(v_.groups);
    boxImages_ = static_cast<double>(std::max<std::int64_t>(1, plan.registerN));
    imageBlocks_ = std::ceil(images() / boxImages_);
    if (plan.matrixUnit) reduced_ = static_cast<double>(pairsOfTaps(v_));
    const std::int64_t tapsTogether = plan.matrixUnit ? tapsOfProduct(v_) : 1;
    passes_ = total.passes * imageBlocks_ * groups_ / static_cast<double>(tapsTogether);
    rows_ = total.rows * images() * groups_;
    calls_ = total.blocks * imageBlocks_ * groups_ * nBlocks_;
    boxRows_ = static_cast<double>(plan.registerW * plan.registerH * plan.registerD) * boxImages_;
    vectorBytes_ = lanes_ * (plan.bufferC ? 4.0 : static_cast<double>(byteSize(result().dtype)));
    packed_ = static_cast<double>(v_.taps() / tapsTogether) * reduced_ * nBlocks_ * vectors_ * lanes_ * 4;
    operandBytes_ = static_cast<double>(operand().bytes);
    resultBytes_ = static_cast<double>(result().bytes);
    cacheOperand_ =
        static_cast<double>(plan.cache.h) * static_cast<double>(oneAxis_ ? 1 : operand().extent.w) * reduced_ * 4;
    cacheBlocksH_ =
        static_cast<double>(result().extent.h) / static_cast<double>(resultStep(1)) / static_cast<double>(plan.cache.h);
    cacheBlocksD_ = std::ceil(static_cast<double>(result().extent.d) / static_cast<double>(resultStep(0)) /
                              static_cast<double>(plan.cache.d));
  }

  PlanCost run() const {
    PlanCost cost;
    cost.computeCycles = stepCycles() + lineCycles() + farLineCycles() + crowdedCycles();
    cost.callCycles = callCycles();
    cost.memoryCycles = weightCycles() + operandCycles() + farPlaneCycles() + resultCycles();
    const double pack = packCycles();
    if (!plan_.packsPerTask()) cost.packCycles = pack;
    cost.moveCycles = pack + panelMoveCycles();
    const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                        kExposed * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
    const Tasks tasks = dealt();
    cost.totalCycles = partitionCycles(v_, busy, tasks.copies, tasks.pieces, m_,
                                       std::min(kTaskCycles, kSmallTaskCycles + packed_ / 64.0 * kColdLineCycles));
    cost.bound = cost.memoryCycles > cost.computeCycles ? "memory"
                 : cost.moveCycles > cost.computeCycles ? "move"
                                                        : "compute";
    return cost;
  }

 private:
  const TensorView& result() const { return v_.bigIsX ? v_.big : v_.small; }
  const TensorView& operand() const { return v_.bigIsX ? v_.small : v_.big; }
  std::int64_t resultStep(int axis) const { return v_.bigIsX ? v_.stride[axis] : 1; }
  double images() const { return static_cast<double>(v_.batch); }
  double parts() const { return static_cast<double>(plan_.batchParts); }
  double cacheBlocks() const { return std::ceil(cacheBlocksH_) * cacheBlocksD_; }
  double perBlock() const { return packed_ / nBlocks_; }  ///< bytes of a block's weights
  bool channelsOuter() const { return plan_.order == IterateOrder::kChannelsOuter; }
  bool panels() const { return plan_.packA || plan_.bufferC; }

  // Taps that share scalars reach neighbouring columns of dY.
  double broadcastTaps() const {
    const int axis = oneAxis_ ? 1 : 2;
    return std::min(static_cast<double>(plan_.broadcastTaps),
                    static_cast<double>(divUp(v_.kernel[axis], resultStep(axis))));
  }

  // Cycles of all reduction steps: FMAs, loads, and at least the latency.
  double stepCycles() const {
    if (plan_.matrixUnit) return productCycles();
    const double meanRows = passes_ > 0 ? rows_ / passes_ : 1, taps = broadcastTaps();
    const double columns = static_cast<double>(plan_.registerW),
                 shared = taps > 1 ? (columns + taps - 1) / (columns * taps) : 1.0;
    const double step = std::max({fmaCycles(m_, meanRows * meanVectors_, plan_.dotProducts),
                                  loadCycles(m_, meanVectors_, meanRows * shared), kSumLatency});
    return passes_ * nBlocks_ * reduced_ * step * 1.01;
  }

  double productCycles() const {
    const auto products = static_cast<double>(PairProducts(pairsOfTaps(v_)).count);
    const std::int64_t tilesOfBlock = rowTiles(flatPixels(v_, plan_.registerH, plan_.registerW));
    return matrixUnitCycles(m_.isa, operand().dtype, {static_cast<double>(tilesOfBlock), meanVectors_},
                            passes_ * nBlocks_ * products, calls_);
  }

  // Lines of dY come from beyond L1, one stream a row: what the core cannot hide of them. Lines of weights are one long stream.
  double lineCycles() const {
    const bool blocks = !plan_.packA && operand().c0 > 0;
    if (plan_.matrixUnit) return 0.0;
    return rows_ * nBlocks_ * reduced_ / 16.0 * (blocks ? kBlockLineCycles : kRowLineCycles);
  }

  bool farInPlace() const { return farOperand(v_, operand(), m_) && !plan_.packA; }

  double farLineCycles() const {
    if (!farInPlace()) return 0.0;
    const double sweeps = channelsOuter() ? nBlocks_ : 1.0;
    return operandBytes_ / 64.0 * overlap(v_, plan_.cache.d, 0) * overlap(v_, plan_.cache.h, 1) * sweeps *
           (plan_.prefetch == Prefetch::kOperands ? kPrefetchedLineCycles : kFarLineCycles);
  }

  // Rows of the box that share sets of L1 with too many others: their scalars come from L2.
  double crowdedCycles() const {
    if (plan_.packA) return 0.0;
    const double lines = linesOfL1(m_, pitchAlongW(v_, !v_.bigIsX), boxRows_),
                 crowded = std::clamp((boxRows_ - lines) / lines, 0.0, 1.0);
    return rows_ * nBlocks_ * reduced_ / broadcastTaps() * crowded * kCrowdedScalarCycles;
  }

  double callCycles() const {
    // More result lines at once than the core can wait for. Pixels of a few channels share lines, but in panels.
    const double ofPixel = std::max(1.0, meanVectors_ * vectorBytes_ / 64.0),
                 apart = static_cast<double>(pitchAlongW(v_, v_.bigIsX)) / 64.0,
                 boxLines = boxRows_ * (plan_.bufferC ? ofPixel : std::min(ofPixel, apart));
    const double resultLines = boxLines > m_.rates.missBuffers ? kCrowdedLineCycles : kResultLineCycles;
    const double entries =
        oneAxis_ ? 8.0 : std::max(1.0, static_cast<double>(divUp(result().extent.w, plan_.registerW)) / 2.0);
    return passes_ / broadcastTaps() * nBlocks_ * segmentCycles(m_) + calls_ * (20.0 + boxLines * resultLines) +
           calls_ * kCallCycles / entries;
  }

  // Packed weights once per box. Those that L1 keeps beside a box, and the lines that pass, come once a cache block: a block's weights
  // serve every box of it in turn.
  double weightCycles() const {
    const double box = boxRows_ * (reduced_ * 4 + meanVectors_ * vectorBytes_);
    const bool near = perBlock() + box <= kKeptWeights * keptByL1(m_);
    const double stream =
        near ? groups_ * imageBlocks_ * cacheBlocks() * packed_ : passes_ * nBlocks_ * reduced_ * vectors_ * lanes_ * 4;
    if (plan_.packsPerTask()) return stream / bytesPerCycle(m_, std::min(amongOfBlock(), perBlock() * 1.3), false);
    if (!channelsOuter()) return stream / bytesPerCycle(m_, packed_ + cacheOperand_, true);
    const double again =  // every cache block sees all blocks in turn
        panels() ? groups_ * imageBlocks_ * cacheBlocks() * packed_ / bytesPerCycle(m_, packed_ * groups_, true) : 0.0;
    return stream / bytesPerCycle(m_, perBlock() + cacheOperand_, true) + again;
  }

  // What passes while a task works with one block of weights.
  double amongOfBlock() const { return perBlock() + (plan_.packA ? cacheOperand_ : operandBytes_ / groups_ / parts()); }

  // Pixels once per block of channels.
  double operandCycles() const {
    if (plan_.packsPerTask())
      return operandBytes_ * nBlocks_ / bytesPerCycle(m_, plan_.packA ? cacheOperand_ : amongOfBlock(), true);
    if (!channelsOuter())
      return operandBytes_ / bytesPerCycle(m_, operandBytes_ / m_.cores, true) +
             operandBytes_ * (nBlocks_ - 1) / bytesPerCycle(m_, cacheOperand_, false);
    return operandBytes_ * nBlocks_ /
           bytesPerCycle(m_, panels() ? cacheOperand_ : operandBytes_ / m_.cores + perBlock(), true);
  }

  // Planes that several planes of results read come again, from where as many planes stay; results pass through there as well.
  double farPlaneCycles() const {
    if (!farInPlace()) return 0.0;
    const double planes = operandBytes_ / images() / static_cast<double>(operand().extent.d) *
                          static_cast<double>(v_.kernel.d * v_.dilation.d);
    return operandBytes_ * (overlap(v_, plan_.cache.d, 0) - 1.0) / bytesPerCycle(m_, 2.0 * planes, true);
  }

  // Blocks of part of a line that do not follow each other move the line each time.
  double resultCycles() const {
    const bool sweeps = !plan_.bufferC && result().c0 == 0 && nBlocks_ > 1 && (plan_.packsPerTask() || channelsOuter());
    const double lines = sweeps ? std::max(1.0, 64.0 / (vectors_ * vectorBytes_)) : 1.0;
    return 1.5 * resultBytes_ * lines / bytesPerCycle(m_, resultBytes_, true);
  }

  double packCycles() const {
    if (!plan_.packsWeights()) return 0.0;
    const double each = v_.taps() == 1 && v_.bigIsX ? m_.rates.copyCycles : m_.rates.transposeCycles;
    const double fromWeights = static_cast<double>(v_.taps()) * reduced_ * channels_ * groups_ * 4;
    // Shared: read, written past the caches of this core, read again.
    return packed_ * groups_ / 64.0 * each * (plan_.packsPerTask() ? parts() : 1.0) +
           (plan_.packsPerTask() ? parts() : 5.0) * fromWeights / bytesPerCycle(m_, 2 * fromWeights, true);
  }

  // A cache block's moves are calls, one for each block of channels.
  double panelMoveCycles() const {
    const double fills = plan_.packsPerTask() ? nBlocks_ : 1.0;
    double moves = 0;
    if (plan_.packA)
      moves += operandPanelCycles(operand(), plan_.dotProducts, m_) * overlap(v_, plan_.cache.h, 1) *
               overlap(v_, plan_.cache.d, 0) * fills;
    if (plan_.bufferC) moves += panelVectors(result()) * (panelCycles(result(), m_) * crowdedPlanes(result()) + 2.0);
    const double planes =
        (plan_.packA ? fills * planesApart(operand()) : 0.0) + (plan_.bufferC ? planesApart(result()) : 0.0);
    return moves + groups_ * imageBlocks_ * cacheBlocks() *
                       (planes * kPlaneRunCycles +
                        fills * kCallCycles *
                            ((plan_.packA ? panelPieces(operand()) : 0) + (plan_.bufferC ? panelPieces(result()) : 0)));
  }

  // What is partitioned to cores: copies of pieces, the last of which may be a part of one.
  struct Tasks {
    double copies, pieces;
  };
  Tasks dealt() const {
    if (plan_.packsPerTask()) return {groups_ * parts(), std::ceil(channels_ / lanes_) / vectors_};
    return {groups_ * imageBlocks_ * cacheBlocksD_ * (channelsOuter() && !panels() ? nBlocks_ : 1.0), cacheBlocksH_};
  }

  const DirectDataPlan& plan_;
  const Machine& m_;
  const bool oneAxis_;
  const ConvView v_;
  double lanes_, vectors_, reduced_, channels_, nBlocks_, meanVectors_, groups_, boxImages_, imageBlocks_;
  double passes_, rows_, calls_;  ///< passes, and rows they cover: per block of channels
  double boxRows_, vectorBytes_;  ///< of results
  double packed_;                 ///< bytes of a group's weights
  double operandBytes_, resultBytes_, cacheOperand_, cacheBlocksH_, cacheBlocksD_;
};

}  // namespace

PlanCost directDataCost(const Problem& problem, const DirectDataPlan& plan, const Machine& m) {
  return DirectDataCosting(problem, plan, m).run();
}

}  // namespace cubejit
