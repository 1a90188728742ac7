// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides kernels of spatial dX (see the header).
#include "algorithms/spatial/lower/data_sections.h"

#include <algorithm>

namespace cubejit {
namespace {

// Channel planes of a 1x1 layer from which their lines are asked for (24 to 144 channels, 56x56: 1.09 times as fast; 24 planes: level).
constexpr std::int64_t kManyPlanes = 64;

// Steps of an unrolled iteration: enough to hide the loop, few enough for the op cache.
constexpr std::int64_t kStepsAnIteration = 24;

}  // namespace

std::vector<LaneRange> SpatialDataSections::readable(std::size_t shift, std::int64_t block) const {
  std::vector<LaneRange> lanes;
  for (std::int64_t v = 0; v < shape_.vectorsOf(block); ++v)
    lanes.push_back(shape_.readable(shape_.shifts[shift].offset, block, v));
  return lanes;
}

// Shifts that read alike share a section, and a segment is one shift. If they differ, a single section does all shifts of a
// channel after one another instead: an operand row is in L1 for all its shifts. So do tiles of several rows, and single channels.
SpatialDataSections::Cut SpatialDataSections::cutOf(const BlockClass& h, std::int64_t block) const {
  Cut cut;
  cut.rowsInside = plan_.registerH > 1;
  cut.rows = cut.rowsInside ? h.length : 1;
  if (cut.rowsInside) {
    std::map<std::int64_t, std::vector<RowTaps::Use>> byRow;
    for (const BlockTap& tap : h.taps) {
      for (std::int64_t r = tap.lo; r < tap.hi; ++r)
        byRow[tap.offset + r * pitches_.operandRow].push_back(RowTaps::Use{r, tap.k});
    }
    for (auto& [row, uses] : byRow) cut.taps.push_back(RowTaps{row, std::move(uses)});
  }
  // One tap along H a segment, or rows that no tap reaches: no segment runs this section then, but a kernel has one.
  if (cut.taps.empty()) cut.taps.push_back(RowTaps{0, {RowTaps::Use{0, 0}}});
  cut.shiftsInside = cut.rowsInside || shape_.reduced == 1;
  for (std::size_t s = 1; s < shape_.shifts.size(); ++s) {
    if (shape_.shifts[s].residues != shape_.shifts[0].residues || readable(s, block) != readable(0, block))
      cut.shiftsInside = true;
  }
  const auto steps =
      static_cast<std::int64_t>(cut.taps.size() * (cut.shiftsInside ? shape_.shifts.size() : std::size_t{1}));
  cut.unroll = std::clamp<std::int64_t>(kStepsAnIteration / steps, 1, plan_.unroll);
  return cut;
}

Variant SpatialDataSections::variant(const BlockClass& d, const BlockClass& h, std::int64_t channels,
                                     std::int64_t block) {
  const Cut cut = cutOf(h, block);
  const std::int64_t main = shape_.reduced / cut.unroll, done = main * cut.unroll;
  const bool remainder = done != shape_.reduced;
  SegmentList list(remainder ? 2 : 1);
  const auto add = [&](std::int64_t a, std::int64_t b) {
    if (main > 0) list[0].push_back(Segment{a, b, main});
    if (remainder)
      list[1].push_back(Segment{a + done * shape_.rowsPacked * 4, b + done * pitches_.operandPitch.c.each, 1});
  };
  for (const BlockTap& td : d.taps) {
    const std::size_t rows = !cut.rowsInside ? h.taps.size() : h.taps.empty() ? 0 : 1;
    for (std::size_t i = 0; i < rows; ++i) {
      const BlockTap th = cut.rowsInside ? BlockTap{} : h.taps[i];
      for (std::size_t s = 0; s < (cut.shiftsInside ? 1 : shape_.shifts.size()); ++s) {
        add(shape_.slotOf(td.k, th.k, s), td.offset * pitches_.operandPitch.d + th.offset * pitches_.operandPitch.h +
                                              shape_.shifts[s].offset * elementBytes(pitches_.operand));
      }
    }
  }
  const auto [kernel, fresh] = kernels_.try_emplace({cut.rowsInside ? &h : nullptr, channels, block}, -1);
  if (fresh) kernel->second = kernelFor(cut, channels, block);
  Variant v;
  v.kernel = kernel->second;
  v.list = b_.addList(std::move(list));
  return v;
}

int SpatialDataSections::kernelFor(const Cut& cut, std::int64_t channels, std::int64_t block) {
  Contract contract;
  contract.lanes = shape_.lanes;
  const std::int64_t vectors = shape_.vectorsOf(block);
  contract.vectorsB = pitches_.operand;
  contract.result = pitches_.result;
  const auto residues = static_cast<std::int64_t>(shape_.residues.size());
  contract.label = "dx_spatial_" + std::to_string(channels * residues) +
                   (cut.rowsInside ? "h" + std::to_string(cut.rows) : "") + "x" + std::to_string(vectors);
  for (std::int64_t row = 0; row < cut.rows; ++row) {
    for (std::int64_t p = 0; p < residues; ++p) {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t v = 0; v < vectors; ++v) {
          const std::int64_t left = shape_.longest - block * shape_.blockLanes - v * shape_.lanes;
          const std::int64_t at = row * pitches_.resultRow + p * pitches_.resultResidue + c * pitches_.resultChannel;
          contract.accumulators.push_back(
              Accumulator{static_cast<std::int32_t>(at + v * shape_.lanes * elementBytes(pitches_.result)),
                          pitches_.cut ? lanesUpTo(left, shape_.lanes) : LaneRange{}});
        }
      }
    }
  }
  if (epilogue_ != nullptr)
    epilogue_->finish(contract, [&](std::size_t i) { return static_cast<std::int64_t>(i) / vectors % channels; });
  contract.sections.push_back(sectionFor(cut, channels, block, cut.unroll));
  if (shape_.reduced % cut.unroll != 0)
    contract.sections.push_back(sectionFor(cut, channels, block, shape_.reduced % cut.unroll));
  return b_.addKernel(std::move(contract));
}

Section SpatialDataSections::sectionFor(const Cut& cut, std::int64_t channels, std::int64_t block,
                                        std::int64_t reduced) const {
  Section section;
  section.aOuterStep = reduced * shape_.rowsPacked * 4;
  section.bOuterStep = reduced * pitches_.operandPitch.c.each;
  for (std::int64_t k = 0; k < reduced; ++k) {
    for (const RowTaps& row : cut.taps) {
      for (std::size_t s = 0; s < (cut.shiftsInside ? shape_.shifts.size() : 1); ++s) {
        const std::int64_t shift = (shape_.shifts[s].offset - shape_.shifts[0].offset) * elementBytes(pitches_.operand);
        section.steps.push_back(
            stepFor(row, s, channels, block, k * shape_.rowsPacked * 4,
                    k * pitches_.operandPitch.c.each + row.operandRow * pitches_.operandPitch.h + shift));
      }
    }
  }
  return section;
}

// One reduction channel of one operand row at one shift.
Step SpatialDataSections::stepFor(const RowTaps& row, std::size_t shift, std::int64_t channels, std::int64_t block,
                                  std::int64_t aOffset, std::int64_t bOffset) const {
  Step step;
  if (shape_.shifts[shift].residues == 0) return step;
  const std::int64_t vectors = shape_.vectorsOf(block), bytes = elementBytes(pitches_.operand);
  // More planes than prefetchers follow: the lines of the next block of pixels.
  if (shape_.g.taps == 1 && !plan_.packA && shape_.reduced >= kManyPlanes)
    step.prefetchB = static_cast<std::int32_t>(shape_.blockLanes * bytes);
  std::vector<std::int16_t> whole;                          // b indices that take part with all lanes
  std::vector<std::pair<LaneRange, std::int16_t>> partial;  // ... with some
  std::vector<std::int64_t> vectorOf;
  for (std::int64_t v = 0; v < vectors; ++v) {
    const LaneRange lanes = shape_.readable(shape_.shifts[shift].offset, block, v);
    if (lanes == kNoLanes) continue;
    const auto index = static_cast<std::int16_t>(step.b.size());
    step.b.push_back(VectorLoad{static_cast<std::int32_t>(bOffset + v * shape_.lanes * bytes), lanes});
    vectorOf.push_back(v);
    if (lanes.all())
      whole.push_back(index);
    else
      partial.emplace_back(lanes, index);
  }
  const auto residues = static_cast<std::int64_t>(shape_.residues.size());
  for (const RowTaps::Use& tap : row.uses) {
    for (std::int64_t p = 0; p < residues; ++p) {
      if ((shape_.shifts[shift].residues >> p & 1) == 0) continue;
      for (std::int64_t c = 0; c < channels; ++c) {
        AOperand operand;
        operand.offset = static_cast<std::int32_t>(aOffset + shape_.slotOf(0, tap.k, shift) - shape_.slotOf(0, 0, 0) +
                                                   (p * shape_.registerChannels + c) * 4);
        const auto use = [&](std::int16_t b) {
          const std::int64_t sum = ((tap.row * residues + p) * channels + c) * vectors;
          return Use{static_cast<std::int16_t>(sum + vectorOf[static_cast<std::size_t>(b)]), b};
        };
        for (std::int16_t b : whole) operand.uses.push_back(use(b));
        if (!operand.uses.empty()) step.a.push_back(operand);
        for (const auto& [lanes, b] : partial) {
          AOperand masked;
          masked.offset = operand.offset;
          masked.useLanes = lanes;
          masked.uses.push_back(use(b));
          step.a.push_back(std::move(masked));
        }
      }
    }
  }
  return step;
}

}  // namespace cubejit
