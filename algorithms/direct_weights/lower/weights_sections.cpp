// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: columns, then what is loaded once, then the operand whose every element meets all of that.
#include "algorithms/direct_weights/lower/weights_sections.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cubejit {
namespace {

class WeightsSteps {
 public:
  WeightsSteps(const ConvView& view, const WeightOperands& operands, const ColumnPattern& pattern,
               const TileOfSums& tile)
      : v_(view), o_(operands), pattern_(pattern), tile_(tile) {}

  Step at(std::int64_t column) const {
    Step step;
    step.firstMembers = pattern_.single;
    if (tile_.kernelWidth)
      kernelWidthStep(step, column);
    else
      o_.operandsTransposed ? transposedStep(step, column) : plainStep(step, column);
    return step;
  }

 private:
  // Lanes are the big tensor's: a vector for each tap, and every row meets all of them.
  void plainStep(Step& step, std::int64_t column) const {
    for (std::int64_t tap = pattern_.tapLo; tap < pattern_.tapHi; ++tap) loadVectors(step, bigAt(column, tap), o_.big);
    for (std::int64_t row = 0; row < tile_.rows; ++row) {
      AOperand operand;
      operand.offset = static_cast<std::int32_t>(column * o_.small.w + o_.small.c.to(row));
      for (std::int64_t tap = pattern_.tapLo; tap < pattern_.tapHi; ++tap)
        use(operand, row, tap, (tap - pattern_.tapLo) * tile_.vectors());
      step.a.push_back(std::move(operand));
    }
  }

  // Lanes are the small tensor's: rows of all taps meet the same vectors.
  void transposedStep(Step& step, std::int64_t column) const {
    loadVectors(step, column * o_.small.w, o_.small);
    for (std::int64_t tap = pattern_.tapLo; tap < pattern_.tapHi; ++tap) {
      for (std::int64_t row = 0; row < tile_.rows; ++row) {
        AOperand operand;
        operand.offset = static_cast<std::int32_t>(bigAt(column, tap) + o_.big.c.to(row));
        use(operand, row, tap, 0);
        step.a.push_back(std::move(operand));
      }
    }
  }

  // Lanes are those of the taps that the column reaches. Others of their vectors are left alone.
  void kernelWidthStep(Step& step, std::int64_t column) const {
    std::vector<LaneRange> reached;
    std::vector<std::int64_t> vectors;
    for (std::int64_t vec = 0; vec < tile_.vectors(); ++vec) {
      const std::int64_t first = vec * tile_.lanes;
      const std::int64_t lo = std::max<std::int64_t>(0, pattern_.tapLo * tile_.width - first),
                         hi = std::min<std::int64_t>(tile_.lanes, pattern_.tapHi * tile_.width - first);
      if (lo >= hi) continue;
      vectors.push_back(vec);
      reached.push_back(hi - lo == tile_.lanes
                            ? LaneRange{}
                            : LaneRange{static_cast<std::int16_t>(lo), static_cast<std::int16_t>(hi)});
      const std::int64_t offset = bigAt(column, 0) + first * elementBytes(tile_.vectorElement);
      step.b.push_back(VectorLoad{static_cast<std::int32_t>(offset), reached.back()});
    }
    for (std::int64_t row = 0; row < tile_.rows; ++row) {
      AOperand operand;
      operand.offset = static_cast<std::int32_t>(column * o_.small.w + o_.small.c.to(row));
      std::vector<AOperand> cut;
      for (std::size_t i = 0; i < vectors.size(); ++i) {
        const Use used{static_cast<std::int16_t>(row * tile_.vectors() + vectors[i]), static_cast<std::int16_t>(i)};
        if (reached[i] == tile_.lanesOf(vectors[i])) {
          operand.uses.push_back(used);
          continue;
        }
        cut.push_back(operand);
        cut.back().useLanes = reached[i];
        cut.back().uses = {used};
      }
      if (!operand.uses.empty()) step.a.push_back(std::move(operand));
      for (AOperand& a : cut) step.a.push_back(std::move(a));
    }
  }

  std::int64_t bigAt(std::int64_t column, std::int64_t tap) const {
    return (column * v_.stride.w + tap * v_.dilation.w) * o_.big.w;
  }

  void loadVectors(Step& step, std::int64_t at, const Pitches& pitches) const {
    for (std::int64_t vec = 0; vec < tile_.vectors(); ++vec) {
      const std::int64_t offset = at + pitches.c.to(vec * tile_.lanes);
      step.b.push_back(VectorLoad{static_cast<std::int32_t>(offset), tile_.lanesOf(vec)});
    }
  }

  void use(AOperand& operand, std::int64_t row, std::int64_t tap, std::int64_t firstVector) const {
    for (std::int64_t vec = 0; vec < tile_.vectors(); ++vec)
      operand.uses.push_back(Use{static_cast<std::int16_t>((row * tile_.taps + tap) * tile_.vectors() + vec),
                                 static_cast<std::int16_t>(firstVector + vec)});
  }

  const ConvView& v_;
  const WeightOperands& o_;
  const ColumnPattern& pattern_;
  const TileOfSums& tile_;
};

}  // namespace

Section weightSection(const ConvView& view, const WeightOperands& operands, const ColumnPattern& pattern,
                      const TileOfSums& tile) {
  Section section;
  const std::int64_t columns = columnsOfStep(operands.pairs, pattern.single);
  const std::int64_t small = pattern.alongRows ? operands.small.h : pattern.steps * columns * operands.small.w;
  const std::int64_t big =
      pattern.alongRows ? view.stride.h * operands.big.h : pattern.steps * columns * view.stride.w * operands.big.w;
  section.aOuterStep = operands.operandsTransposed ? big : small;
  section.bOuterStep = operands.operandsTransposed ? small : big;
  const WeightsSteps steps(view, operands, pattern, tile);
  for (std::int64_t x = 0; x < pattern.steps * columns; x += columns) section.steps.push_back(steps.at(x));
  return section;
}

}  // namespace cubejit
