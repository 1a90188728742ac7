// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a Winograd plan costs: products, transforms of both operands and of the products, what streams from which cache.
#include <cmath>

#include "algorithms/winograd/shape.h"
#include "algorithms/winograd/winograd.h"

namespace cubejit {
namespace {

// Share of a transform's coefficients that are not zero (F(4, 3): 22 of 36 of the data, 18 of 24 of the results).
constexpr double kNonZero = 0.65;
// How much longer a pass takes than its FMAs and stores: kernels are short, and boxes come from L2 (measured over 2D and 3D rows).
constexpr double kPassLength = 2.0;
// The same of filters and sums of points, on top: every point is a stream of its own.
constexpr double kStreamsLength = 2.5;
// FMA slots that products reach beside their loads.
constexpr double kProductRate = 0.92;

// Other algorithms are taken unless they cost so much more: relaxed math must not be slower than strict math.
constexpr double kDoubt = 1.05;
// Shared sums of points of several residues (dW of strided layers, two threads) took 1.3 to 1.7 times as long as predicted, for no cause that is known.
constexpr double kDoubtOfResidues = 1.6;
// Share of L2 that a point's panels may have beside accumulators.
constexpr double kPointOfL2 = 0.3;
// Bytes a cycle of what another core has written, broadcast from rows far apart, and read as a stream (Zen 5, two cores of a virtual machine: a panel
// that both write and read takes twice as long as one core's own).
constexpr double kForeignBytes = 3.0, kForeignStreamBytes = 9.0;

// Cycles, on all cores, that `bytes` which all of them wrote take if each reads all of it, or writes it again after it was read.
double foreignCycles(const Machine& m, double bytes, double perCycle) {
  const double cores = m.cores;
  return bytes * (1.0 + cores) * (cores - 1.0) / cores / perCycle;
}

using Extents = std::array<std::int64_t, 3>;

// Cycles of the lines of a pass, each of `in` vectors that become `out`.
double lineCycles(std::int64_t in, std::int64_t out) {
  const double read = static_cast<double>(in), made = static_cast<double>(out);
  return kPassLength * (std::max(kNonZero * read * made, made + 0.5 * read) + 0.5 * made);
}

// Cycles of transforming a box of vectors axis by axis, of one vector of channels; `taken` of them go in one call. Lines along the last of the
// other axes are segments of one call, those along the first are calls.
double boxCycles(const Extents& from, const Extents& to, double taken) {
  double cycles = 0;
  for (int pass = 2; pass >= 0; --pass) {
    const auto p = static_cast<std::size_t>(pass);
    if (from[p] == 1 && to[p] == 1) continue;
    const auto extent = [&](std::size_t q) { return static_cast<double>(q > p ? to[q] : from[q]); };
    const double calls = extent(p == 0 ? 1 : 0), others = calls * extent(p == 2 ? 1 : 2);
    cycles += others * (lineCycles(from[p], to[p]) + kSegmentCycles / taken) + 1.5 * calls * kCallCycles / taken;
  }
  return cycles;
}

// The same of a tile whose row is transformed together: along D and H columns of all tiles at once, along W all points of a tile.
double tileCycles(const WinogradShape& s, const Extents& from, const Extents& to, double taken) {
  const bool others = s.points[0] > 1 || s.points[1] > 1;
  if (s.points[2] == 1 || !others) return boxCycles(from, to, taken);
  const double tiles = static_cast<double>(s.tilesOfRow);
  const auto columns = static_cast<double>(s.tile[2]);  // of a tile: those that patches share count once
  double cycles = 0;
  const auto pass = [&](std::size_t axis, double lines, double calls) {
    if (s.points[axis] == 1) return;
    cycles += lines * (lineCycles(from[axis], to[axis]) + kSegmentCycles / taken) + calls * kCallCycles / taken;
  };
  const auto h = static_cast<double>(from[1]), d = static_cast<double>(to[0]);
  pass(0, h * columns, h / tiles);
  pass(1, d * columns, d / tiles);
  pass(2, static_cast<double>(s.points[0] * s.points[1]), 1.0);
  return cycles;
}

// Cycles of moving what rows of tiles have of a tensor into panels of f32, or out of them; `residues` times. Rows of tiles overlap in patches.
double panelCycles(const WinogradShape& s, bool patches, const Machine& m) {
  const TensorView& t = patches ? s.patched : s.tiled;
  const auto residues = static_cast<double>(patches ? s.patchedResidues() : s.tiledResidues());
  const double bytes = static_cast<double>(panelBytes(s, patches)) * static_cast<double>(s.rows * s.view.groups),
               each = t.plain() ? m.rates.transposeCycles : m.rates.copyCycles;
  return residues * bytes * each / 64.0;
}

// The decisions of either gradient's plan that cost something.
struct Costed {
  bool dx;
  std::int64_t registerRows, registerVectors, cacheRows;
  bool beforehand;  ///< patches are transformed once, for all parts; filters or sums are a task's own
  double cutM, cutN, splits;
};

Costed costed(const WinogradDataPlan& p) {
  return {true, p.registerRows, p.registerVectors, p.cacheRows, p.perTask, 1.0, static_cast<double>(p.channelParts),
          1.0};
}
Costed costed(const WinogradWeightsPlan& p) {
  return {false,
          p.registerRows,
          p.registerVectors,
          p.cacheRows,
          p.bufferC,
          static_cast<double>(p.rowParts),
          p.bufferC ? static_cast<double>(p.vectorParts) : 1.0,
          static_cast<double>(p.reductionParts)};
}

PlanCost costOf(const WinogradShape& s, const Costed& plan, const Machine& m) {
  const ConvView& v = s.view;
  const bool dx = plan.dx;
  const double lanes = m.isa.lanes();
  // Residues are more channels of the patches or more results; at some points there are fewer.
  const double groups = static_cast<double>(v.groups), points = static_cast<double>(s.volume()),
               patched = static_cast<double>(s.patchedResidues()), tiled = static_cast<double>(s.tiledResidues()),
               products = static_cast<double>(s.pointsOfResidues());
  const double tiles = static_cast<double>(s.rows * s.tilesOfRow) * groups;
  const auto vectorsOf = [&](std::int64_t channels) { return std::ceil(static_cast<double>(channels) / lanes); };
  const TensorView& lane = dx ? s.tiled : s.patched;
  const double width = static_cast<double>(plan.registerVectors), blocks = std::ceil(vectorsOf(lane.channels) / width);
  const double laneVectors = dx ? blocks * width : vectorsOf(lane.channels);
  const auto reduced = static_cast<double>(dx ? s.patched.channels : s.tiled.channels);
  const double taken = std::min(4.0, vectorsOf(s.patched.channels));

  PlanCost cost;
  cost.computeCycles = tiles * products * reduced * laneVectors / kProductRate / m.rates.fmaPerCycle / vectorsAtOnce(m);
  const double perPart = static_cast<double>(plan.cacheRows * s.tilesOfRow);
  if (dx) {  // rows of a block of products: the last is not full
    const double calls = std::ceil(perPart / static_cast<double>(plan.registerRows));
    const double each = perPart / calls;
    cost.computeCycles *= std::max(1.0, (width + each * 0.5) / (each * width));
    cost.callCycles +=
        tiles / perPart * points * tiled * blocks * kCallCycles + tiles / each * products * blocks * kSegmentCycles * 2;
  } else {
    const double calls = reduced / static_cast<double>(plan.registerRows) * blocks * products * tiles / perPart;
    cost.callCycles += calls * (2 * kSegmentCycles + static_cast<double>(plan.registerRows) * width) +
                       blocks * products * tiles / perPart * kCallCycles;
  }
  const double cutM = plan.cutM, cutN = plan.cutN;
  const bool beforehand = plan.beforehand;                   // patches are transformed once, for all parts
  const double again = beforehand ? 1.0 : dx ? cutN : cutM;  // else every part of the channels transforms them
  double transforms =
      tiles * patched * vectorsOf(s.patched.channels) * tileCycles(s, s.points, s.points, taken) * again;
  transforms += dx ? tiles * tiled * laneVectors * tileCycles(s, s.points, s.tile, width)
                   : tiles * vectorsOf(s.tiled.channels) * tileCycles(s, s.tile, s.points, taken);
  transforms += panelCycles(s, true, m) * again + panelCycles(s, false, m);
  // Filters, or sums of points: once.
  const double filter = groups * products * reduced * laneVectors * lanes * 4,
               held = filter / groups / (beforehand ? (dx ? blocks : cutM * cutN) : 1.0);
  const double splits = plan.splits;
  double moves = kStreamsLength * groups * static_cast<double>(s.residues) * reduced * laneVectors *
                 (dx ? boxCycles(s.taps, s.points, width) : boxCycles(s.points, s.taps, width));
  moves += groups * static_cast<double>(v.taps()) * reduced * laneVectors * m.rates.transposeCycles * 2;
  const double weights = groups * static_cast<double>(v.taps()) * reduced * laneVectors * lanes * 4;
  moves += weights / bytesPerCycle(m, weights, true);
  if (!beforehand) {  // packed or summed in memory that all cores share
    moves += (2.0 * filter * splits + 2.0 * weights) / bytesPerCycle(m, filter * splits, true);
    if (dx) cost.packCycles = moves;
  }
  // Panels of points: written, and read once a part of the channels; filters (dX) or sums (dW) once a part of the tiles.
  const double patches = patched * static_cast<double>(s.patched.channels),
               pointsOf = dx ? patches : patches + static_cast<double>(s.tiled.channels);
  const double partTiles = beforehand ? tiles / groups : perPart, panel = points * partTiles * 4 * pointsOf;
  const double parts = tiles / partTiles;
  // Panels of all tiles are broadcast from rows far apart, which no prefetcher follows.
  double reads = dx ? (beforehand ? 2.0 : 1.0) * tiled * blocks : beforehand ? cutM + cutN : 1.0;
  // dW: what a point has of both panels is read for each block of the other one's channels, from L2 if it stays there.
  if (!dx && !beforehand && panel / points > kPointOfL2 * static_cast<double>(m.buffers.l1Bytes))
    reads = 0.5 * (reduced / static_cast<double>(plan.registerRows) + patched * blocks);
  cost.memoryCycles =
      parts * panel * (beforehand ? 2.0 + reads : (1.0 + reads) * again) / bytesPerCycle(m, panel, beforehand);
  // Sums are read and written at the ends of kernels, which wait for them.
  cost.memoryCycles += parts * filter / groups * (dx ? 1.0 : 4.0) /
                       bytesPerCycle(m, beforehand ? held : filter * splits / cutM / cutN, dx && !beforehand);
  if (beforehand)
    cost.memoryCycles += foreignCycles(m, parts * panel, kForeignBytes);
  else
    cost.memoryCycles +=
        foreignCycles(m, dx ? filter : 2.0 * splits * filter, kForeignStreamBytes);  // dW: read, and added
  const double tensors = static_cast<double>(s.patched.bytes) * again + static_cast<double>(s.tiled.bytes) * 1.5;
  cost.memoryCycles += tensors / bytesPerCycle(m, tensors, true);
  cost.moveCycles = transforms + moves;
  const double busy = std::max(cost.computeCycles, cost.memoryCycles) +
                      kExposed * std::min(cost.computeCycles, cost.memoryCycles) + cost.callCycles + cost.moveCycles;
  const double copies = groups * cutM * cutN;
  const double pieces = beforehand ? 1.0
                        : dx       ? std::ceil(static_cast<double>(s.rows) / static_cast<double>(plan.cacheRows))
                                   : splits;
  const double doubt = !dx && !beforehand && s.residues > 1 ? kDoubtOfResidues : kDoubt;
  cost.totalCycles = doubt * partitionCycles(s.view, busy, copies, pieces, m, kTaskCycles);
  cost.bound = cost.memoryCycles > cost.computeCycles ? "memory"
               : cost.moveCycles > cost.computeCycles ? "move"
                                                      : "compute";
  return cost;
}

}  // namespace

PlanCost winogradCost(const Problem& core, const WinogradDataPlan& plan, const Machine& machine) {
  return costOf(winogradShape(core, plan), costed(plan), machine);
}

PlanCost winogradCost(const Problem& core, const WinogradWeightsPlan& plan, const Machine& machine) {
  return costOf(winogradShape(core, plan), costed(plan), machine);
}

}  // namespace cubejit
