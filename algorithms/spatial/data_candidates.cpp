// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides candidates of spatial dX: rows are (row of H x residue class x channel), vectors run along W.
#include "algorithms/spatial/spatial.h"

#include "algorithms/spatial/data_shape.h"
#include "algorithms/spatial/rates.h"

namespace cubejit {
namespace {

// Fused multiply-adds of a kernel that holds all taps of a plane: beyond, instructions do not stay in their caches.
constexpr std::int64_t kMostInKernel = 2048;

// Rows of H a tile may have: so many that all result channels fit, and no more than there are.
std::vector<std::int64_t> rowsOfTiles(const SpatialView& g, std::int64_t sums) {
  const std::int64_t phaseRows = divUp(g.result.extent.h, g.gather ? g.view.stride.h : 1);
  std::vector<std::int64_t> out{1};
  for (const std::int64_t limit : {2, 3, 4, 6, 8, 14}) {
    const std::int64_t rows = equalPiece(phaseRows, limit);
    const std::int64_t products = rows * sums * g.view.kernel.h * g.view.kernel.w;
    if (rows > out.back() && products <= kMostInKernel) out.push_back(rows);
  }
  return out;
}

// What a task stages and computes: planes and rows.
void addCacheBlocks(const SpatialView& g, SpatialDataPlan plan, const Machine& m, std::vector<SpatialDataPlan>& out) {
  const double l1 = 2.0 * static_cast<double>(m.buffers.l1Bytes);
  const std::int64_t extentH = std::max<std::int64_t>(1, g.result.extent.h);
  const std::int64_t mostH =
      divUp(plan.registerH > 1 && g.gather ? divUp(extentH, g.view.stride.h) : extentH, plan.registerH) *
      plan.registerH;
  for (const std::int64_t depths : {1, 4, 8}) {
    for (const std::int64_t rowsH : {1, 2, 4, 8, 16, 32}) {
      plan.cache.d = std::min(depths, std::max<std::int64_t>(1, g.result.extent.d));
      plan.cache.h = std::min(rowsH * plan.registerH, mostH);
      const double bytes = static_cast<double>((plan.cache.d + g.view.kernel.d) * (plan.cache.h + g.view.kernel.h) *
                                               g.operand.channels * g.operand.extent.w * 4);
      if (plan.packA && bytes > l1 && (plan.cache.d > 1 || plan.cache.h > plan.registerH)) continue;
      out.push_back(plan);
      // Planes far apart: every row is on a page of its own, and no prefetcher follows. Stage them too.
      if (g.operand.channelsLast || g.operand.cStride < kFarPlaneBytes || bytes > l1) continue;
      out.push_back(plan);
      out.back().packA = true;
    }
  }
}

}  // namespace

std::vector<SpatialDataPlan> spatialDataCandidates(const Problem& problem, const Machine& m) {
  const SpatialView g(problem);
  std::vector<SpatialDataPlan> out;
  const auto reached = static_cast<std::int64_t>(g.residues.size());
  // Wide kernels would need a section per shift; many channels fill lanes by themselves.
  if (reached == 0 || reached > 8 || g.view.kernel.w > 16) return out;
  if (g.result.channelsLast && g.result.channels > 2 * m.isa.lanes()) return out;
  const std::int64_t regs = usableRegisters(m, true) - 1, most = divUp(g.longest, m.isa.lanes());
  // Residue classes that no tap reaches count, too.
  const std::int64_t residues = residuesOf(g.view);
  std::int64_t last = 0;
  for (const std::int64_t limit : {14, 11, 8, 7, 6, 5, 4, 3, 2, 1}) {
    const std::int64_t vectors = equalPiece(most, limit);
    // Long runs of one row are for those that have no other sums.
    if (vectors == last || (limit > 8 && (g.result.channels > 1 || g.result.extent.h > 1))) continue;
    last = vectors;
    const std::int64_t rows = (regs - vectors) / (vectors * reached);
    if (rows < 1) continue;
    SpatialDataPlan plan;
    plan.registerVectors = vectors;
    plan.registerChannels = equalPiece(g.result.channels, rows);
    plan.unroll =
        std::min<std::int64_t>(g.operand.channels, g.operand.channels % 8 == 0 && g.view.kernel.w <= 3 ? 8 : 4);
    plan.packA = g.operand.channelsLast;
    plan.bufferC =
        g.result.channelsLast || reached > 1 || g.view.stride.w > 1 || roundsByIntegers(g.result.dtype, m.isa);
    for (const std::int64_t baseH : rowsOfTiles(g, reached * plan.registerChannels * vectors)) {
      if (baseH > 1 && (plan.registerChannels < g.result.channels || baseH * plan.registerChannels > rows)) continue;
      if (residues * plan.registerChannels * baseH * vectors + vectors + 1 > m.isa.vectorRegs) continue;
      plan.registerH = baseH;
      addCacheBlocks(g, plan, m, out);
    }
  }
  return out;
}

}  // namespace cubejit
