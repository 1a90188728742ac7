// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides candidates and costs of dW of the spatial algorithm: tiles of taps, and rows of the small tensor that a step holds.
#include "algorithms/spatial/spatial.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "algorithms/kit/rates.h"
#include "algorithms/kit/reduction_partition.h"

namespace cubejit {
namespace {

// Pairs of channels a group: each reads its planes again.
constexpr std::int64_t kMostPairs = 16;
// Cycles of a task, of a call, of a section (a loop whose end is not foreseen), and of a segment (a row block of vectors that are alike).
constexpr double kTask = 300.0, kCall = 60.0, kSection = 25.0, kSegment = 15.0;
// A vector that begins anywhere in a line, and the sum of its lanes.
constexpr double kCrossingLoadCycles = 1.0, kSumCycles = 4.0;

bool applies(const ConvView& v) {
  const auto plain = [](const TensorView& t) { return !t.channelsLast && t.c0 == 0; };
  return plain(v.big) && plain(v.small) && v.stride.w == 1 && v.big.channels * v.small.channels <= kMostPairs;
}

// Numbers of tasks that leave a small problem no choice.
bool alike(const SpatialWeightsPlan& a, const SpatialWeightsPlan& b) {
  const auto fields = [](const SpatialWeightsPlan& p) {
    return std::tuple(p.registerTapsH, p.registerTapsW, p.registerH, p.reductionParts, p.reduction.n, p.reduction.d,
                      p.reduction.h);
  };
  return fields(a) == fields(b);
}

// Images one after another, or all of a part in one call: fewer calls, but each tile of taps walks over all of them. Images that are too
// few, or too large for one sum, are cut into runs of planes or rows.
void addReductions(const ConvView& v, const Machine& m, SpatialWeightsPlan plan, std::int64_t parts,
                   std::vector<SpatialWeightsPlan>& out) {
  const Dhw& e = v.small.extent;
  const std::int64_t batch = std::max<std::int64_t>(1, v.batch);
  const auto add = [&](const ReductionBlock& block) {
    const PartialSums sums = ReductionPartition(v, block).sums(m.isa.lanes());
    plan.reduction = block;
    plan.reductionParts = std::clamp(parts, std::min(sums.leastParts(), sums.blocks), sums.blocks);
    if (out.empty() || !alike(out.back(), plan)) out.push_back(plan);
  };
  const ReductionBlock image{1, v.oneAxis ? 1 : std::max<std::int64_t>(1, e.d),
                             std::max<std::int64_t>(1, v.oneAxis ? e.w : e.h)};
  const bool fits = ReductionPartition(v, image).sums(m.isa.lanes()).mostBlocks() > 0;
  if (fits && (parts <= batch || parts == 1)) {
    add(image);
    if (batch > parts && batch % parts == 0) add({batch / parts, image.d, image.h});
    return;
  }
  const std::int64_t longest = kLongestChain * 32 * m.isa.lanes(),
                     pixels = std::clamp<std::int64_t>(ceilDiv(batch * e.volume(), 4 * parts), 1, longest);
  if (v.oneAxis) return add({1, 1, std::min(e.w, roundUp(pixels, m.isa.lanes()))});
  const std::int64_t rows = std::max<std::int64_t>(1, pixels / e.w), whole = v.cutsRows() ? 1 : e.h;
  if (rows < whole) return add({1, 1, std::min(e.h, roundUp(rows, plan.registerH))});
  if (v.cutsRows()) return add({1, 1, 1});
  add({1, std::clamp<std::int64_t>(rows / e.h, 1, e.d), e.h});
}

}  // namespace

std::vector<SpatialWeightsPlan> spatialWeightsCandidates(const Problem& problem, const Machine& m) {
  const ConvView v = makeConvView(problem, Pass::kDw);
  std::vector<SpatialWeightsPlan> out;
  if (!applies(v)) return out;
  const std::int64_t sums = usableRegisters(m, true) - 3;  // a row, a vector of the other tensor, a spare
  SpatialWeightsPlan plan;
  plan.registerTapsW = equalPiece(v.kernel.w, sums);
  std::int64_t lastTaps = 0;
  for (const std::int64_t taps :
       {v.kernel.h, divUp(v.kernel.h, 2), std::int64_t{3}, std::int64_t{2}, std::int64_t{1}}) {
    plan.registerTapsH = equalPiece(v.kernel.h, std::min(taps, std::max<std::int64_t>(1, sums / plan.registerTapsW)));
    if (plan.registerTapsH == lastTaps) continue;
    lastTaps = plan.registerTapsH;
    std::int64_t lastRows = 0;
    for (const std::int64_t rows : {1, 2, 3, 4, 6, 8, 11, 14}) {
      plan.registerH = equalPiece(std::max<std::int64_t>(1, v.small.extent.h), rows);
      if (plan.registerH <= lastRows || plan.registerTapsH * plan.registerTapsW + plan.registerH > sums + 1) continue;
      lastRows = plan.registerH;
      for (const std::int64_t splits : {1, m.cores, 2 * m.cores}) addReductions(v, m, plan, splits, out);
    }
  }
  return out;
}

PlanCost spatialWeightsCost(const Problem& problem, const SpatialWeightsPlan& plan, const Machine& m) {
  const ConvView v = makeConvView(problem, Pass::kDw);
  const double pairs = static_cast<double>(v.groups * v.big.channels * v.small.channels),
               images = static_cast<double>(v.batch), planes = images * static_cast<double>(v.small.extent.d);
  const double rows = static_cast<double>(plan.registerH), tapsH = static_cast<double>(plan.registerTapsH),
               tapsW = static_cast<double>(plan.registerTapsW), kernelD = static_cast<double>(v.kernel.d);
  const double tiles =
      std::ceil(static_cast<double>(v.kernel.h) / tapsH) * std::ceil(static_cast<double>(v.kernel.w) / tapsW);
  const double vectors = std::ceil(static_cast<double>(v.small.extent.w) / m.isa.lanes()),
               blocks = std::ceil(static_cast<double>(v.small.extent.h) / rows);
  // Rows of the big tensor that taps of neighbouring rows share: of dilated ones only some.
  const auto dilation = static_cast<double>(v.dilation.h), stride = static_cast<double>(v.stride.h);
  const double shared =
      stride == 1.0 && rows > dilation ? std::min(rows + (tapsH - 1.0) * dilation, rows * tapsH) : rows * tapsH;
  const double step = rows * tapsH * tapsW;  // products
  const auto narrow = [](const TensorView& t) { return t.dtype != DType::kF32; };
  const double converted = (narrow(v.big) ? shared * tapsW : 0.0) + (narrow(v.small) ? rows : 0.0);
  const double loads = shared * tapsW * kCrossingLoadCycles + rows * m.rates.vectorLoadCycles;
  const double cycles =
      std::max({step / m.rates.fmaPerCycle + converted * 0.45, loads, rows * kSumLatency / vectorsAtOnce(m)}) +
      m.rates.exposedLoads * loads;
  PlanCost cost;
  const ReductionPartition partition(v, plan.reduction);
  const double reductions = static_cast<double>(partition.blocks());
  const double calls = pairs * reductions * kernelD * tiles *
                       static_cast<double>(partition.sums(m.isa.lanes()).chainsOfBlock()),
               passes = pairs * planes * kernelD * tiles * blocks;
  cost.computeCycles = passes * vectors * cycles / vectorsAtOnce(m);
  const double sections = std::min(3.0, blocks) * std::min(3.0, vectors);
  cost.callCycles =
      calls * (kCall + 2.0 * tapsH * tapsW + sections * kSection) + passes * std::min(3.0, vectors) * kSegment;
  const double again = static_cast<double>(v.big.channels + v.small.channels) / 2.0,
               bytes = static_cast<double>(v.big.bytes + v.small.bytes),
               plane = bytes / std::max(1.0, reductions * pairs) * again * 2.0;
  cost.memoryCycles = bytes / bytesPerCycle(m, bytes / m.cores, true) +
                      bytes * (again * kernelD * tiles - 1.0) / bytesPerCycle(m, plane, false);
  const double splits = static_cast<double>(plan.reductionParts);
  cost.moveCycles = pairs * static_cast<double>(v.taps()) * (kSumCycles + 3.0 * (splits - 1.0));
  const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                      kExposed * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
  cost.totalCycles = partitionCycles(v, busy, pairs, splits, m, kTask);
  cost.bound = cost.memoryCycles > cost.computeCycles ? "memory"
               : cost.moveCycles > cost.computeCycles ? "move"
                                                      : "compute";
  return cost;
}

}  // namespace cubejit
