// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a plan makes of a weight gradient, in numbers: tiles, steps, reduction blocks, and the bytes that each of them streams.
// Leaves what that costs to tile_cost and cost.
#pragma once

#include <cstdint>

#include "algorithms/direct_weights/weight_view.h"
#include "algorithms/kit/range.h"
#include "algorithms/kit/reduction_partition.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"

namespace cubejit {

/// The outputs [lo, hi) of an axis that a tap finds an input for.
Range insideOf(const ConvView& v, int axis, std::int64_t tap);

/// Pixels of a plan's reduction block; images are counted in words where the plan's products take pairs of them.
double pixelsOfBlock(const WeightView& view, const DirectWeightsPlan& plan);

/// Sizes are real numbers: means over blocks. What is said of images and pixels is said of words where the plan's products take pairs.
/// Refers to what it was made of.
struct WeightShape {
  WeightShape(const Problem& problem, const DirectWeightsPlan& plan, const Machine& machine);

  /// How much more of a tensor is read along an axis that is cut into `length` outputs, for what taps reach around them.
  double withReach(bool cut, int axis, std::int64_t length) const;
  /// The same of a panel: it holds nothing behind the last tap of its last output, so strides longer than the kernel spare some.
  double copied(int axis, std::int64_t length) const;
  const TensorView& lane() const { return operandsTransposed ? v.small : v.big; }
  const TensorView& row() const { return operandsTransposed ? v.big : v.small; }

  const DirectWeightsPlan& plan;
  const Machine& m;
  const WeightView view;
  const ConvView& v = view.words;
  const DirectWeightsPlan reduced;  ///< the plan, its images counted in words
  const bool operandsTransposed, columnPairs;
  const bool kernelWidth;  ///< lanes are taps and channels together
  const bool laneInPanel;  ///< for all blocks of rows, or for all but the first
  const bool formed;       ///< kernels form pairs, of two lines

  // Blocks and tiles.
  double lanes, groups, images, columns, vectors, rows;
  double laneVectors, laneBlocks, rowBlocks, tapBlocks, outerTaps;
  double meanTaps, meanVectors, meanRows;
  std::int64_t tapsOfBlock;  ///< along W
  double accs;               ///< vectors of sums in a tile
  double pairsDh, pairsW;    ///< (output, tap) pairs along D and H, along W that fall inside
  double pixelSteps;         ///< steps of one tile for all its outer taps
  double tiles;
  bool straddles;      ///< rows of a tile lie in two lines now and then
  double linesOfRows;  ///< lines that the rows of a tile lie in
  double widened;      ///< loads that a vector of lanes takes
  bool laneInBlocks;   ///< where they lie
  bool laneRuns,
      rowRuns;  ///< read out of blocks, and not widened again and again: lines follow each other as pixels do

  // Reduction blocks.
  const ReductionPartition partition;
  double blocks, blockRows, blockPixels, blockSteps, calls;
  double reach;                ///< of the big tensor's planes and rows in a reduction block
  double laneEach, rowEach;    ///< bytes that a channel of a pixel takes of a reduction block
  double laneScale, rowScale;  ///< pixels read for each output
  double laneBytes, rowBytes;  ///< that a step of a tile streams
  std::int64_t lanePitch;      ///< bytes from one pixel's lanes to the next one's
  double blockBytes;

  // Sums.
  double splits, parts;
  double scratch;   ///< bytes of all sums
  bool direct;      ///< sums are rows of dw itself
  bool storedOnce;  ///< and each in one pass
  bool
      transposes;  ///< sums are private to a task and transposed as they leave it: several taps, lanes of the big tensor
  bool atOnce;     ///< each block of those is complete after one pass
  bool lanesOutside;
};

}  // namespace cubejit
