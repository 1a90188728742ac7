// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the numbers.
#include "algorithms/direct_weights/shape.h"

#include <algorithm>
#include <cmath>

#include "algorithms/direct_weights/direct_stores.h"
#include "algorithms/direct_weights/rates.h"
#include "algorithms/kit/panel_pitch.h"

namespace cubejit {
namespace {

// (output, tap) pairs that fall inside, on one axis.
double insidePairs(const ConvView& v, int axis) {
  double pairs = 0;
  for (std::int64_t k = 0; k < v.kernel[axis]; ++k) {
    const Range in = insideOf(v, axis, k);
    pairs += static_cast<double>(in.hi - in.lo);
  }
  return pairs;
}

DirectWeightsPlan inWords(const WeightView& view, DirectWeightsPlan plan) {
  plan.reduction.n = view.blockImages(plan.reduction.n);
  return plan;
}

}  // namespace

Range insideOf(const ConvView& v, int axis, std::int64_t tap) {
  const std::int64_t stride = v.stride[axis], shift = tap * v.dilation[axis] - v.pad[axis];
  const std::int64_t last = v.big.extent[axis] - 1 - shift;
  Range in{shift >= 0 ? 0 : divUp(-shift, stride), last < 0 ? 0 : std::min(v.small.extent[axis], last / stride + 1)};
  in.hi = std::max(in.lo, in.hi);
  return in;
}

double pixelsOfBlock(const WeightView& view, const DirectWeightsPlan& plan) {
  const std::int64_t columns = view.words.oneAxis ? 1 : view.words.small.extent.w;
  return static_cast<double>(plan.reduction.h * columns * plan.reduction.d * view.blockImages(plan.reduction.n));
}

double WeightShape::withReach(bool cut, int axis, std::int64_t length) const {
  return cut ? std::max(1.0, copied(axis, length)) : 1.0;
}

double WeightShape::copied(int axis, std::int64_t length) const {
  const std::int64_t around = (v.kernel[axis] - 1) * v.dilation[axis] + 1 - v.stride[axis];
  return 1.0 + static_cast<double>(around) / static_cast<double>(length * v.stride[axis]);
}

WeightShape::WeightShape(const Problem& problem, const DirectWeightsPlan& p, const Machine& machine)
    : plan(p),
      m(machine),
      view(weightView(problem, p.dotProducts, p.matrixUnit)),
      reduced(inWords(view, p)),
      operandsTransposed(p.vectorize == WeightVectors::kTransposed),
      columnPairs(view.pairs == PixelPairs::kColumns),
      kernelWidth(p.vectorize == WeightVectors::kKernelWidth),
      laneInPanel(p.packsVectors() || p.packsOnFirstUse()),
      formed(p.dotProducts && !laneInPanel),
      partition(v, reduced.reduction) {
  const TensorView &l = lane(), &r = row();
  lanes = m.isa.lanes();
  groups = static_cast<double>(v.groups);
  images = static_cast<double>(v.batch);
  columns = static_cast<double>(v.small.extent.w);
  vectors = static_cast<double>(plan.registerVectors);
  rows = static_cast<double>(plan.registerRows);
  tapsOfBlock = kernelWidth ? v.kernel.w : plan.registerTaps;
  laneVectors = std::ceil(static_cast<double>(l.channels * (kernelWidth ? v.kernel.w : 1)) / lanes);
  laneBlocks = std::ceil(laneVectors / vectors);
  rowBlocks = std::ceil(static_cast<double>(r.channels) / rows);
  tapBlocks = std::ceil(static_cast<double>(v.kernel.w) / static_cast<double>(tapsOfBlock));
  outerTaps = static_cast<double>(v.kernel.d * v.kernel.h);
  meanTaps = kernelWidth ? 1.0 : static_cast<double>(v.kernel.w) / tapBlocks;
  meanVectors = laneVectors / laneBlocks;
  meanRows = static_cast<double>(r.channels) / rowBlocks;
  accs = meanRows * meanTaps * meanVectors;
  pairsDh = insidePairs(v, 0) * insidePairs(v, 1);
  pairsW = insidePairs(v, 2);
  pixelSteps = images * groups * pairsDh * (columnPairs ? std::ceil(columns / 2) : columns);
  tiles = laneBlocks * rowBlocks * tapBlocks;
  // Rows that do not divide a line's sixteen straddle two of them. With one tap along W the next block of rows finds the rest of a
  // line in L1.
  straddles = !plan.matrixUnit && v.kernel.w > 1 && 16 % plan.registerRows != 0 && rowBlocks > 1;
  linesOfRows = straddles ? 1.0 + (meanRows - 1.0) / 16.0 : std::max(1.0, meanRows / 16.0);
  laneInBlocks = !laneInPanel && l.c0 > 0;
  lanesOutside = plan.order == IterateOrder::kPixelsOuter;
  laneRuns = laneInBlocks && (formed || l.dtype == DType::kF32 || lanesOutside);
  rowRuns = !plan.packA && r.c0 > 0;
  // Vectors of 16-bit elements are widened as they are read; pairs take two lines, which every other vector shares with its neighbour
  // unless that lies in the next block.
  const bool sharesLines = formed && !laneInBlocks && plan.registerVectors % 2 == 0;
  widened = laneInPanel || l.dtype == DType::kF32 || sharesLines ? 1.0 : kWidenedLoads;

  blocks = static_cast<double>(partition.blocks());
  blockRows = v.oneAxis ? 1.0 : static_cast<double>(plan.reduction.h);
  blockPixels = pixelsOfBlock(view, plan);
  blockSteps = columnPairs ? blockPixels / 2 : blockPixels;
  calls = blocks * groups * tiles * outerTaps;
  // What a pixel's channel takes of a reduction block. Pairs of columns: dot products read a word for every other column, but the big
  // tensor's every column if its taps overlap. Cut planes and rows are read with what the taps reach around them.
  reach = withReach(!v.oneAxis && plan.reduction.d < v.small.extent.d, 0, plan.reduction.d) *
          withReach(!v.oneAxis && plan.reduction.h < v.small.extent.h, 1, plan.reduction.h);
  const double smallEach = columnPairs ? 2.0 : 4.0, bigEach = (columnPairs && v.kernel.w == 1 ? 2.0 : 4.0) * reach;
  laneEach = operandsTransposed ? smallEach : bigEach;
  rowEach = operandsTransposed ? bigEach : smallEach;
  const double bigRead = static_cast<double>(readPerOutput(v));
  laneScale = operandsTransposed ? 1.0 : bigRead;
  rowScale = operandsTransposed ? bigRead : 1.0;
  // A pass streams its lane vectors and a line per row block and pixel. Pairs that the kernel forms take a line of each member at least.
  const double vectorElement = laneInPanel ? 4.0 : static_cast<double>(byteSize(l.dtype));
  const double laneChannels =
      kernelWidth ? static_cast<double>(l.channels) : meanVectors * lanes;  // neighbouring taps overlap
  const double memberBytes = laneChannels * vectorElement;
  laneBytes = (!formed ? memberBytes : 2.0 * (laneInBlocks ? memberBytes : std::max(64.0, memberBytes))) *
              (operandsTransposed ? 1.0 : static_cast<double>(readPerOutput(v, 2)));
  const auto partBytes =
      static_cast<std::int64_t>(laneVectors * lanes) / std::max<std::int64_t>(1, plan.vectorParts) * 4;
  lanePitch = !laneInPanel ? l.wStride : kernelWidth ? l.channels * 4 : panelPitch(partBytes);
  rowBytes = r.channelsLast || rowRuns || plan.packA ? 64.0 * linesOfRows : meanRows * 4;
  if (operandsTransposed && rowRuns)  // each tap's pixel is a line
    rowBytes *= std::min(meanTaps, static_cast<double>(readPerOutput(v, 2)));
  blockBytes = blockPixels * (smallEach * static_cast<double>(v.small.channels) +
                              bigEach * static_cast<double>(v.big.channels) * bigRead);

  splits = static_cast<double>(plan.reductionParts);
  parts = static_cast<double>(plan.rowParts * plan.vectorParts);
  scratch = groups * (kernelWidth ? laneChannels : laneBlocks * vectors * lanes) * static_cast<double>(r.channels) *
            static_cast<double>(v.taps()) * 4;
  direct = storesSumsDirectly(view.asked, plan, formatOf(problem, TensorId::kDw).dtype, m.isa);
  storedOnce = direct && blocks <= 1;
  transposes = plan.bufferC && !operandsTransposed && v.taps() > 1;
  atOnce = transposes && blocks <= 1;
}

}  // namespace cubejit
