// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides runs, sections and their steps.
#include "algorithms/grouped/lower/weight_sections.h"

#include <algorithm>
#include <map>
#include <string>

namespace cubejit {
namespace {

// Rows of the reduction block whose valid taps of the block along H are equal.
struct RowRun {
  Range rows;
  std::int64_t tapLo = 0, tapHi = 0;
};

std::vector<RowRun> rowRuns(const ConvView& v, const PixelBlock& block, const Range& taps) {
  std::vector<RowRun> runs;
  for (std::int64_t row = 0; row < block.h.length(); ++row) {
    RowRun run{Range{row, row + 1}, taps.length(), 0};
    for (std::int64_t t = 0; t < taps.length(); ++t) {
      const std::int64_t at = (block.h.lo + row) * v.stride.h + (taps.lo + t) * v.dilation.h - v.pad.h;
      if (at < 0 || at >= v.big.extent.h) continue;
      run.tapLo = std::min(run.tapLo, t);
      run.tapHi = t + 1;
    }
    if (run.tapLo >= run.tapHi) continue;
    const bool joins =
        !runs.empty() && runs.back().rows.hi == row && runs.back().tapLo == run.tapLo && runs.back().tapHi == run.tapHi;
    if (joins)
      runs.back().rows.hi = row + 1;
    else
      runs.push_back(run);
  }
  return runs;
}

// All columns of the reduction block in steps of nearly equal length; steps without pairs are left out.
std::vector<ColumnStep> columnSteps(const ConvView& v, const PixelBlock& block, const Range& taps,
                                    std::int64_t columns) {
  std::vector<ColumnStep> steps;
  for (std::int64_t start = 0; start < block.w.length(); start += columns) {
    ColumnStep step{start, {}};
    for (std::int64_t u = 0; u < std::min(columns, block.w.length() - start); ++u) {
      for (std::int64_t t = 0; t < taps.length(); ++t) {
        const std::int64_t at = (block.w.lo + start + u) * v.stride.w + (taps.lo + t) * v.dilation.w - v.pad.w;
        if (at >= 0 && at < v.big.extent.w) step.pairs.emplace_back(u, t);
      }
    }
    if (!step.pairs.empty()) steps.push_back(std::move(step));
  }
  return steps;
}

std::size_t sectionIndex(std::vector<PixelSection>& sections, PixelSection section) {
  const auto known = std::find(sections.begin(), sections.end(), section);
  if (known != sections.end()) return static_cast<std::size_t>(known - sections.begin());
  sections.push_back(std::move(section));
  return sections.size() - 1;
}

// What multiplies a vector of the permuted tensor: vectors of the other one, and the taps whose sums the products belong to.
struct GroupUses {
  struct Use {
    std::int64_t lane, h, w;
  };
  std::pair<std::int64_t, std::int64_t> place;  // bytes along W, along H
  std::vector<Use> uses;
};

struct StepProducts {
  std::vector<std::int64_t> lanes;  // bytes
  std::vector<GroupUses> groups;
};

// By column, then row: rows feed accumulators of their own, and one row's are too few to hide the latency of an FMA.
StepProducts productsOf(const ConvView& v, const PixelSection& pixels, const ColumnStep& columns, bool bigIsPermuted,
                        const Operand& big, const Operand& small) {
  struct Product {
    std::int64_t lane, h, w;
  };
  std::map<std::int64_t, std::int64_t> lanes;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Product>> groups;
  for (std::int64_t h = pixels.tapLo; h < pixels.tapHi; ++h) {
    for (const auto& [u, t] : columns.pairs) {
      const std::int64_t x = columns.start + u, row = h * v.dilation.h * big.pitch.h,
                         column = (x * v.stride.w + t * v.dilation.w) * big.pitch.w, smallAt = x * small.pitch.w;
      const std::int64_t lane = bigIsPermuted ? smallAt : row + column;
      lanes.emplace(lane, 0);
      groups[bigIsPermuted ? std::pair{column, row} : std::pair{smallAt, std::int64_t{0}}].push_back({lane, h, t});
    }
  }
  StepProducts out;
  for (auto& [offset, index] : lanes) {
    index = static_cast<std::int64_t>(out.lanes.size());
    out.lanes.push_back(offset);
  }
  for (const auto& [place, products] : groups) {
    GroupUses uses{place, {}};
    for (const Product& p : products) uses.uses.push_back({lanes.at(p.lane), p.h, p.w});
    out.groups.push_back(std::move(uses));
  }
  return out;
}

}  // namespace

std::vector<PixelRun> makePixelRuns(const ConvView& v, const PixelBlock& block, const TapBlock& taps,
                                    std::int64_t columns, std::int64_t unrolledUses,
                                    std::vector<PixelSection>& sections) {
  std::vector<PixelRun> runs;
  const std::int64_t width = std::max<std::int64_t>(1, block.w.length());
  const std::int64_t pieces = (width + columns - 1) / columns;
  const std::int64_t length = (width + pieces - 1) / pieces;
  std::vector<ColumnStep> steps = columnSteps(v, block, taps.w, length);
  std::int64_t pairs = 0;
  for (const ColumnStep& step : steps) pairs += static_cast<std::int64_t>(step.pairs.size());
  for (const RowRun& run : rowRuns(v, block, taps.h)) {
    if (steps.empty()) break;
    if (pairs * taps.channels.length() * (run.tapHi - run.tapLo) <= unrolledUses) {
      const std::size_t section = sectionIndex(sections, PixelSection{steps, run.tapLo, run.tapHi, true, 0});
      runs.push_back(PixelRun{section, run.rows.lo, 0, run.rows.length()});
      continue;
    }
    std::vector<std::size_t> sectionOf;  // by step
    for (const ColumnStep& step : steps) {
      sectionOf.push_back(
          sectionIndex(sections, PixelSection{{ColumnStep{0, step.pairs}}, run.tapLo, run.tapHi, false, length}));
    }
    for (std::int64_t row = run.rows.lo; row < run.rows.hi; ++row) {
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const ColumnStep& step = steps[i];
        const std::size_t section = sectionOf[i];
        PixelRun* last = runs.empty() ? nullptr : &runs.back();
        if (last != nullptr && last->section == section && last->row == row &&
            last->column + last->outer * length == step.start)
          ++last->outer;
        else
          runs.push_back(PixelRun{section, row, step.start, 1});
      }
    }
  }
  return runs;
}

Contract groupedWeightsKernel(const ConvView& v, const std::vector<PixelSection>& sections, const TapBlock& taps,
                              const GroupLanes& lanes, const GroupWeightsUnit& unit, bool bigIsPermuted,
                              const Operand& big, const Operand& small) {
  Contract contract;
  contract.lanes = lanes.lanes;
  contract.vectorsA = (bigIsPermuted ? big : small).element();
  contract.vectorsB = (bigIsPermuted ? small : big).element();
  const std::int64_t channels = taps.channels.length(), tapsW = taps.w.length(),
                     results = taps.h.length() * tapsW * channels;
  const auto blocks = static_cast<std::int64_t>(unit.groups.size());
  contract.addsToC = true;
  contract.label = "dw_grouped" + unitLabel(unit.groups) + "_" + std::to_string(taps.h.length()) + "x" +
                   std::to_string(tapsW) + "t" + std::to_string(channels) + "s" + std::to_string(sections.size());
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t h = 0; h < taps.h.length(); ++h) {
      for (std::int64_t w = 0; w < tapsW; ++w) {
        const std::int64_t at = block * unit.accumulatorPitch + (h * v.kernel.w + w) * lanes.tapBytes();
        for (std::int64_t j = 0; j < channels; ++j)
          contract.accumulators.push_back(Accumulator{static_cast<std::int32_t>(at + j * lanes.lanes * 4), {}});
      }
    }
  }
  const std::int64_t permutedPitch = bigIsPermuted ? unit.bigPitch : unit.smallPitch,
                     vectorPitch = bigIsPermuted ? unit.smallPitch : unit.bigPitch;
  const auto operandOf = [&](const GroupUses& uses, std::int64_t block, std::int64_t j) {
    const std::int64_t offset = uses.place.first + uses.place.second + block * permutedPitch;
    AOperand operand =
        groupOperand(lanes, unit.groups[static_cast<std::size_t>(block)], taps.channels.lo + j, offset, contract);
    for (const GroupUses::Use& use : uses.uses) {
      const std::int64_t acc = block * results + (use.h * tapsW + use.w) * channels + j;
      operand.uses.push_back(Use{static_cast<std::int16_t>(acc), static_cast<std::int16_t>(use.lane * blocks + block)});
    }
    return operand;
  };
  for (const PixelSection& pixels : sections) {
    Section section;
    const std::int64_t bigStep =
        pixels.alongRows ? v.stride.h * big.pitch.h : pixels.columns * v.stride.w * big.pitch.w;
    const std::int64_t smallStep = pixels.alongRows ? small.pitch.h : pixels.columns * small.pitch.w;
    section.aOuterStep = bigIsPermuted ? bigStep : smallStep;
    section.bOuterStep = bigIsPermuted ? smallStep : bigStep;
    for (const ColumnStep& columns : pixels.steps) {
      const StepProducts products = productsOf(v, pixels, columns, bigIsPermuted, big, small);
      Step step;
      for (const std::int64_t offset : products.lanes) {  // blocks take turns: their lines lie side by side
        for (std::int64_t block = 0; block < blocks; ++block)
          step.b.push_back(VectorLoad{static_cast<std::int32_t>(offset + block * vectorPitch),
                                      lanes.usedLanes(unit.groups[static_cast<std::size_t>(block)])});
      }
      for (const GroupUses& uses : products.groups) {
        for (std::int64_t block = 0; block < blocks; ++block) {
          for (std::int64_t j = 0; j < channels; ++j) step.a.push_back(operandOf(uses, block, j));
        }
      }
      section.steps.push_back(std::move(step));
    }
    contract.sections.push_back(std::move(section));
  }
  return contract;
}

}  // namespace cubejit
