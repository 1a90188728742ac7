// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides residue classes, shifts and blocks along W of spatial dX (see the header).
#include "algorithms/spatial/lower/data_tiles.h"

#include <algorithm>
#include <utility>

#include "algorithms/kit/lower/class_numbers.h"

namespace cubejit {
namespace {

// Positions along W at which a shift of so many operands finds one.
Range lanesRead(const SpatialShape& s, std::int64_t offset) {
  return {std::max<std::int64_t>(0, -offset), std::min(s.g.operand.extent.w - offset, s.longest)};
}

}  // namespace

SpatialShape::SpatialShape(const Problem& problem, const SpatialDataPlan& plan, const Machine& machine)
    : g(makeDataGradient(problem, OneAxis::kInRows)),
      lanes(machine.isa.lanes()),
      residues(residueClasses(g.relation[2])),
      reduced(g.operand.channels),
      registerChannels(plan.registerChannels),
      channelBlocks((g.result.channels + plan.registerChannels - 1) / plan.registerChannels),
      rowsPacked(static_cast<std::int64_t>(residues.size()) * plan.registerChannels),
      blockLanes(plan.registerVectors * machine.isa.lanes()) {
  for (const ResidueClass& residue : residues) longest = std::max(longest, residue.count);
  collectShifts();
}

void SpatialShape::collectShifts() {
  for (std::size_t p = 0; p < residues.size(); ++p) {
    for (const BlockTap& tap : residues[p].taps) {
      auto at = std::find_if(shifts.begin(), shifts.end(), [&](const TapShift& s) { return s.offset == tap.offset; });
      if (at == shifts.end())
        at = shifts.insert(shifts.end(), TapShift{tap.offset, 0, std::vector<std::int64_t>(residues.size(), -1)});
      at->residues |= std::uint64_t{1} << p;
      at->kernelW[p] = tap.k;
    }
  }
  // Results that no tap reaches are sums of nothing, which is a shift in which no residue takes part.
  if (shifts.empty()) shifts.push_back(TapShift{0, 0, std::vector<std::int64_t>(residues.size(), -1)});
  std::sort(shifts.begin(), shifts.end(), [](const TapShift& a, const TapShift& b) { return a.offset < b.offset; });
}

std::int64_t SpatialShape::vectorsOf(std::int64_t block) const {
  return std::min(blockLanes / lanes, (longest - block * blockLanes + lanes - 1) / lanes);
}

std::vector<LaneBlocks> SpatialShape::blockRuns() const {
  // Blocks in which every shift reads all lanes are alike.
  Range everyShift{0, longest};
  for (const TapShift& shift : shifts) {
    const Range own = lanesRead(*this, shift.offset);
    everyShift = {std::max(everyShift.lo, own.lo), std::min(everyShift.hi, own.hi)};
  }
  const Range inside{ceilDiv(everyShift.lo, blockLanes), everyShift.hi / blockLanes};
  std::vector<LaneBlocks> runs;
  ClassNumbers<std::vector<std::int64_t>> known;
  for (std::int64_t block = 0; block < blocks(); block = runs.back().first + runs.back().count) {
    std::vector<std::int64_t> lanesOf;
    for (std::int64_t v = 0; v < vectorsOf(block); ++v) {
      lanesOf.push_back(std::min<std::int64_t>(longest - block * blockLanes - v * lanes, lanes));
      for (const TapShift& shift : shifts) {
        const LaneRange read = readable(shift.offset, block, v);
        lanesOf.insert(lanesOf.end(), {read.lo, read.hi});
      }
    }
    runs.push_back(
        {block, block == inside.lo && inside.length() > 0 ? inside.length() : 1, known.of(std::move(lanesOf)).first});
  }
  return runs;
}

LaneRange SpatialShape::readable(std::int64_t offset, std::int64_t block, std::int64_t v) const {
  const Range read = lanesRead(*this, offset);
  const std::int64_t first = block * blockLanes + v * lanes;
  const std::int64_t lo = std::clamp<std::int64_t>(read.lo - first, 0, lanes),
                     hi = std::clamp<std::int64_t>(read.hi - first, 0, lanes);
  if (lo >= hi) return kNoLanes;
  if (lo == 0 && hi == lanes) return LaneRange{};
  return LaneRange{static_cast<std::int16_t>(lo), static_cast<std::int16_t>(hi)};
}

std::int64_t SpatialShape::blockBytes() const {
  return g.view.kernel.d * g.view.kernel.h * static_cast<std::int64_t>(shifts.size()) * shiftBytes();
}

std::int64_t SpatialShape::slotOf(std::int64_t kd, std::int64_t kh, std::size_t shift) const {
  return ((kd * g.view.kernel.h + kh) * static_cast<std::int64_t>(shifts.size()) + static_cast<std::int64_t>(shift)) *
         shiftBytes();
}

}  // namespace cubejit
