// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a weight gradient by Winograd's minimal filtering: tiles of the small tensor filter patches of the
// big one, and the taps are the results. A task transforms some rows of tiles and patches, multiplies them point by point (one
// matrix product a point, over tiles) into accumulators, for all its rows; sums of points become sums of taps at the end.
// Leaves transforms to linear_passes, tiles to winograd_box, the way into dw's order to weights_unpack.
#include <algorithm>
#include <utility>

#include "codegen/lower/data_gradient.h"
#include "codegen/lower/weights_unpack.h"
#include "codegen/lower/winograd_box.h"

namespace cubejit {
namespace {

class Lowering {
 public:
  Lowering(const Problem& problem, const TilingPlan& plan, const Machine& machine)
      : plan_(plan),
        lanes_(machine.isa.lanes()),
        registers_(machine.isa.vectorRegs - (machine.isa.maskRegs > 0 ? 0 : 3)),
        b_(problemLabel(problem, plan)),
        v_(makeConvView(problem, Gradient::kDw)),
        box_(makeWinogradBox(plan, v_, v_.small, v_.big, v_.pad)) {
    width_ = plan.baseVectors * lanes_;
    laneBlocks_ = (v_.big.channels + width_ - 1) / width_;
    rowBlocks_ = (v_.small.channels + plan.baseRows - 1) / plan.baseRows;
    chunks_ = std::max<std::int64_t>(1, (box_.rows() + plan.panelH - 1) / plan.panelH);
    splits_ = std::clamp<std::int64_t>(plan.cores.reduction, 1, chunks_);
    sums_ = WeightsScratch{
        v_.groups, laneBlocks_, v_.small.channels, box_.points(), width_, splits_, v_.big.channels, lanes_, false,
        -1,        -1,          Element::kF32};
    taps_ = sums_;
    taps_.taps = v_.taps();
    taps_.splits = 1;
  }

  TileProgram run() {
    const int x = b_.addBuffer("x", BufferRole::kX, v_.bigIsX ? v_.big.bytes : v_.small.bytes);
    const int dy = b_.addBuffer("dy", BufferRole::kDy, v_.bigIsX ? v_.small.bytes : v_.big.bytes);
    bigBuffer_ = v_.bigIsX ? x : dy;
    smallBuffer_ = v_.bigIsX ? dy : x;
    taps_.dwBuffer =
        b_.addBuffer("dw", BufferRole::kDw, v_.groups * v_.small.channels * v_.big.channels * v_.taps() * 4);
    sums_.scratchBuffer = b_.addBuffer("point_sums", BufferRole::kShared, splits_ * scratchBytes(sums_));
    taps_.scratchBuffer = b_.addBuffer("tap_sums", BufferRole::kShared, scratchBytes(taps_));
    productPhase();
    if (splits_ > 1) addWeightsCombine(b_, sums_);
    tapsPhase();
    addWeightsUnpack(b_, taps_);
    return b_.finish();
  }

 private:
  // F(taps, m): the tile is the filter, the taps are the results.
  WinogradMatrices matricesOf(std::size_t axis) const { return winogradMatrices(box_.taps[axis], box_.axes[axis].m); }
  std::int64_t sumPoint() const { return v_.small.channels * width_ * 4; }

  void productPhase() {
    b_.beginPhase("winograd");
    room_.enterPhase();
    const auto padded = [&](std::int64_t channels) {
      return panelPitch((channels + lanes_ - 1) / lanes_ * lanes_ * 4);
    };
    const std::int64_t chunkRows = (box_.rows() + chunks_ - 1) / chunks_, mostTiles = chunkRows * box_.tilesOfRow();
    const std::int64_t bigPitch = padded(laneBlocks_ * width_), smallPitch = padded(v_.small.channels);
    const std::int64_t bigPoint = panelPitch(mostTiles * bigPitch), smallPoint = panelPitch(mostTiles * smallPitch);
    const int bigPanel = b_.addBuffer("patches", BufferRole::kPrivate, box_.points() * bigPoint);
    const int smallPanel = b_.addBuffer("tiles", BufferRole::kPrivate, box_.points() * smallPoint);
    const int big = b_.addStream("big", bigBuffer_), bigOut = b_.addStream("patches_out", bigPanel);
    const int small = b_.addStream("small", smallBuffer_), smallOut = b_.addStream("tiles_out", smallPanel);
    const int a = b_.addStream("tiles", smallPanel), lanes = b_.addStream("patches", bigPanel),
              c = b_.addStream("sums", sums_.scratchBuffer);
    const int groups = b_.addUniformAxis(
        "g", v_.groups, {{big, v_.big.groupStride()}, {small, v_.small.groupStride()}, {c, groupScratchBytes(sums_)}});
    const int rows =
        addRowAxis(b_, box_, {tensorStream(big, v_.big, box_, true), tensorStream(small, v_.small, box_, false)},
                   {{bigOut, bigPitch}, {smallOut, smallPitch}});
    const int tiles =
        addTileAxis(b_, box_, {tensorStream(big, v_.big, box_, true), tensorStream(small, v_.small, box_, false)},
                    {{bigOut, bigPitch}, {smallOut, smallPitch}});
    const int chunk = b_.addDeal("chunk", rows, chunks_);
    for (std::int64_t i = 0; i < chunks_; ++i) {  // panels start with the chunk's first row
      const std::int64_t before = firstRow(i) * box_.tilesOfRow();
      moveStep(chunk, i, bigOut, -before * bigPitch);
      moveStep(chunk, i, smallOut, -before * smallPitch);
    }
    const int split = b_.addDeal("split", chunk, splits_);
    for (std::int64_t i = 0; i < splits_; ++i) moveStep(split, i, c, i * scratchBytes(sums_));
    const int rowBlocks = b_.addAxis("rows", 2);
    for (std::int64_t i = 0; i < rowBlocks_; ++i) {
      b_.addStep(rowBlocks, {{a, i * plan_.baseRows * 4}, {c, i * plan_.baseRows * width_ * 4}},
                 (i + 1) * plan_.baseRows <= v_.small.channels ? 0 : 1);
    }
    const int rowPart = b_.addDeal("row_part", rowBlocks, std::min(plan_.cores.channelsM, rowBlocks_));
    const int laneBlocks =
        b_.addUniformAxis("lanes", laneBlocks_, {{lanes, width_ * 4}, {c, box_.points() * sumPoint()}});
    const int point = b_.addUniformAxis("point", box_.points(), {{a, smallPoint}, {lanes, bigPoint}, {c, sumPoint()}});

    BoxTransform patches;
    patches.matrix = [&](std::size_t axis) { return matricesOf(axis).data; };
    patches.inStride = {v_.big.dStride, v_.big.hStride, v_.big.wStride};
    patches.outStride = pointStrides(box_, bigPoint);
    patches.inputs = &TileClass::patch;
    BoxTransform filters = patches;
    filters.matrix = [&](std::size_t axis) { return matricesOf(axis).taps; };
    filters.inStride = {v_.small.dStride, v_.small.hStride, v_.small.wStride};
    filters.outStride = pointStrides(box_, smallPoint);
    filters.inputs = &TileClass::tile;
    const std::vector<PassAxis> ofBig = boxPasses(box_, patches, rows, tiles),
                                ofSmall = boxPasses(box_, filters, rows, tiles);
    const PassChannels bigChannels{lanes_, passVectors(ofBig, registers_, 4), true, false,
                                   -1,     {Extent{0, v_.big.channels}}};
    PassChannels smallChannels{lanes_, passVectors(ofSmall, registers_, 4), true, false, rowPart, {}};
    for (const Window& w : b_.phase().axes[static_cast<std::size_t>(rowBlocks)].windows) {
      smallChannels.ranges.push_back(
          Extent{w.begin * plan_.baseRows, std::min(w.end * plan_.baseRows, v_.small.channels)});
    }
    std::vector<Node> load = linearPasses(room_, "big", ofBig, bigChannels, big, bigOut);
    for (Node& node : linearPasses(room_, "small", ofSmall, smallChannels, small, smallOut))
      load.push_back(std::move(node));
    std::vector<Node> body;
    body.push_back(loopNode(rows, {loopNode(tiles, std::move(load))}));
    Call call{"multiply", a, lanes, c, {chunk, rowBlocks}, {}};
    for (std::int64_t i = 0; i < chunks_; ++i) {
      const std::int64_t count = (firstRow(i + 1) - firstRow(i)) * box_.tilesOfRow();
      for (int tail = 0; tail < 2; ++tail)
        call.variants.push_back(product(count, isFirst(i), tail, smallPitch, bigPitch));
    }
    for (Node& node : nest({point, laneBlocks, rowBlocks}, {callNode(std::move(call))}))
      body.push_back(std::move(node));
    b_.phase().parallelAxes = {groups, split, rowPart};
    b_.phase().body = {loopNode(chunk, std::move(body))};
    b_.phase().workCycles = static_cast<double>(v_.groups * box_.rows() * box_.tilesOfRow() * box_.points()) *
                            static_cast<double>(v_.small.channels * laneBlocks_ * plan_.baseVectors);
  }

  std::int64_t firstRow(std::int64_t chunk) const { return box_.rows() * chunk / chunks_; }
  // The first chunk of a part starts its sums.
  bool isFirst(std::int64_t chunk) const {
    for (std::int64_t s = 0; s < splits_; ++s) {
      if (chunks_ * s / splits_ == chunk) return true;
    }
    return false;
  }
  void moveStep(int axis, std::int64_t step, int stream, std::int64_t bytes) {
    auto& delta = b_.phase().axes[static_cast<std::size_t>(axis)].steps[static_cast<std::size_t>(step)].delta;
    delta.resize(b_.phase().streams.size(), 0);
    delta[static_cast<std::size_t>(stream)] += bytes;
  }

  Variant product(std::int64_t tiles, bool first, int tail, std::int64_t smallPitch, std::int64_t bigPitch) {
    const std::int64_t rows =
        tail == 1 ? v_.small.channels % plan_.baseRows : std::min(plan_.baseRows, v_.small.channels);
    if (rows == 0 || (tail == 0 && v_.small.channels < plan_.baseRows)) return Variant{};
    Contract contract;
    contract.lanes = lanes_;
    contract.label = "product_" + std::to_string(rows) + "x" + std::to_string(plan_.baseVectors);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t v = 0; v < plan_.baseVectors; ++v)
        contract.accumulators.push_back(Accumulator{static_cast<std::int32_t>((r * width_ + v * lanes_) * 4), {}});
    }
    for (const std::int64_t steps : {plan_.unroll, std::int64_t{1}}) {
      Section section;
      section.aOuterStep = steps * smallPitch;
      section.bOuterStep = steps * bigPitch;
      for (std::int64_t t = 0; t < steps; ++t) {
        Step step;
        for (std::int64_t v = 0; v < plan_.baseVectors; ++v)
          step.b.push_back(VectorLoad{static_cast<std::int32_t>(t * bigPitch + v * lanes_ * 4), {}});
        for (std::int64_t r = 0; r < rows; ++r) {
          AOperand operand;
          operand.offset = static_cast<std::int32_t>(t * smallPitch + r * 4);
          for (std::int64_t v = 0; v < plan_.baseVectors; ++v)
            operand.uses.push_back(
                Use{static_cast<std::int16_t>(r * plan_.baseVectors + v), static_cast<std::int16_t>(v)});
          step.a.push_back(std::move(operand));
        }
        section.steps.push_back(std::move(step));
      }
      contract.sections.push_back(std::move(section));
    }
    SegmentList list(2);
    const std::int64_t main = tiles / plan_.unroll, rest = tiles % plan_.unroll;
    if (main > 0) list[0].push_back(Segment{0, 0, main});
    if (rest > 0) list[1].push_back(Segment{main * plan_.unroll * smallPitch, main * plan_.unroll * bigPitch, rest});
    return Variant{b_.addKernel(std::move(contract)), b_.addList(std::move(list)), !first};
  }

  // point_sums [group][lane block][point][row][width] -> tap_sums [group][lane block][row][tap][width]
  void tapsPhase() {
    b_.beginPhase("transform_taps");
    room_.enterPhase();
    const int src = b_.addStream("points", sums_.scratchBuffer), dst = b_.addStream("taps", taps_.scratchBuffer);
    const std::int64_t row = width_ * 4;
    const int groups =
        b_.addUniformAxis("g", v_.groups, {{src, groupScratchBytes(sums_)}, {dst, groupScratchBytes(taps_)}});
    const int blocks = b_.addUniformAxis(
        "lanes", laneBlocks_, {{src, box_.points() * sumPoint()}, {dst, v_.small.channels * taps_.taps * row}});
    const std::int64_t chunk = divisorAtMost(v_.small.channels, 16);
    const int outer =
        b_.addUniformAxis("row0", v_.small.channels / chunk, {{src, chunk * row}, {dst, chunk * taps_.taps * row}});
    const int inner = b_.addUniformAxis("row", chunk, {{src, row}, {dst, taps_.taps * row}});
    BoxTransform transform;
    transform.matrix = [&](std::size_t axis) { return matricesOf(axis).results; };
    transform.inStride = pointStrides(box_, sumPoint());
    transform.outStride = tapStrides(box_, row);
    const std::vector<PassAxis> passes = boxPasses(box_, transform, -1, -1);
    const PassChannels channels{
        lanes_, passVectors(passes, registers_, plan_.baseVectors), false, false, -1, {Extent{0, width_}}};
    b_.phase().parallelAxes = {groups, blocks, outer};
    b_.phase().body = nest({inner}, linearPasses(room_, "taps", passes, channels, src, dst));
    b_.phase().workCycles = static_cast<double>(scratchBytes(sums_)) / 64.0 * 6.0;
  }

  const TilingPlan& plan_;
  const int lanes_;
  const std::int64_t registers_;
  ProgramBuilder b_;
  PassRoom room_{b_};
  const ConvView v_;
  const WinogradBox box_;
  std::int64_t width_ = 16, laneBlocks_ = 1, rowBlocks_ = 1, chunks_ = 1, splits_ = 1;
  WeightsScratch sums_, taps_;
  int bigBuffer_ = -1, smallBuffer_ = -1;
};

}  // namespace

Result<TileProgram> lowerWinogradWeights(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  return Lowering(problem, plan, machine).run();
}

}  // namespace cubejit
