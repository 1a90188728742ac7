// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a weight gradient by Winograd's minimal filtering: tiles of the small tensor filter patches of the
// big one, and the taps are the results. Points are multiplied over tiles (one matrix product a point) into accumulators, whose
// sums of points become sums of taps at the end.
// Usually a task transforms some rows of tiles and patches after the other and adds their products to shared accumulators. With
// panel_c all of them are transformed first, and a task has a part of dw to itself, whose accumulators stay in its L2.
// Leaves transforms to linear_transforms, tiles to tile_box, the way into dw's order to weights_unpack.
#include <algorithm>
#include <utility>

#include "algorithms/kit/lower/chained_call.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/point_product.h"
#include "algorithms/kit/lower/tile_box.h"
#include "algorithms/kit/lower/weights_unpack.h"
#include "algorithms/kit/panel_pitch.h"
#include "algorithms/winograd/lower/matrices.h"
#include "algorithms/winograd/winograd.h"

namespace cubejit {
namespace {

class WinogradWeightsLowering {
 public:
  WinogradWeightsLowering(const Problem& problem, const WinogradWeightsPlan& plan, const Machine& machine)
      : plan_(plan),
        lanes_(machine.isa.lanes()),
        registers_(passRegisters(machine.isa)),
        b_(problemLabel(problem, Pass::kDw)),
        v_(makeConvView(problem, Pass::kDw)),
        box_(makeTileBox({plan.tileD, plan.tileH, plan.tileW}, v_, v_.small, v_.big, v_.pad)) {
    width_ = plan.registerVectors * lanes_;
    laneBlocks_ = (v_.big.channels + width_ - 1) / width_;
    rowBlocks_ = (v_.small.channels + plan.registerRows - 1) / plan.registerRows;
    rowParts_ = std::min(plan.rowParts, rowBlocks_);
    laneParts_ = std::min(plan.vectorParts, laneBlocks_);
    reductionBlocks_ = std::max<std::int64_t>(1, (box_.rows() + plan.cacheRows - 1) / plan.cacheRows);
    splits_ = plan.bufferC ? 1 : std::clamp<std::int64_t>(plan.reductionParts, 1, reductionBlocks_);
    const std::int64_t blockTiles = (box_.rows() + reductionBlocks_ - 1) / reductionBlocks_ * box_.tilesOfRow(),
                       tiles = plan.bufferC ? box_.rows() * box_.tilesOfRow() : blockTiles;
    bigPitch_ = panelPitch(laneBlocks_ * width_ * 4);
    smallPitch_ = panelPitch((v_.small.channels + lanes_ - 1) / lanes_ * lanes_ * 4);
    bigPoint_ = panelPitch(tiles * bigPitch_);
    smallPoint_ = panelPitch(tiles * smallPitch_);
    taps_ = WeightsScratch{v_.groups,
                           laneBlocks_,
                           v_.small.channels,
                           v_.taps(),
                           width_,
                           1,
                           v_.big.channels,
                           lanes_,
                           false,
                           v_.kernel,
                           -1,
                           -1,
                           Element::kF32,
                           weightOrder(problem, TensorId::kDw)};
    // Rows and blocks of lanes that accumulators have room for.
    heldRows_ = plan.bufferC ? (rowBlocks_ + rowParts_ - 1) / rowParts_ * plan.registerRows : v_.small.channels;
    heldLanes_ = plan.bufferC ? (laneBlocks_ + laneParts_ - 1) / laneParts_ : laneBlocks_;
  }

  TileProgram run() {
    const int x = b_.addTensor(TensorId::kX, v_.bigIsX ? v_.big.span : v_.small.span);
    const int dy = b_.addTensor(TensorId::kDy, v_.bigIsX ? v_.small.span : v_.big.span);
    bigBuffer_ = v_.bigIsX ? x : dy;
    smallBuffer_ = v_.bigIsX ? dy : x;
    taps_.dwBuffer = b_.addTensor(TensorId::kDw, taps_.dw.bytes);
    const Buffer::Use accumulators = plan_.bufferC ? Buffer::Use::kPrivate : Buffer::Use::kShared,
                      panels = plan_.bufferC ? Buffer::Use::kShared : Buffer::Use::kPrivate;
    const std::int64_t copies = plan_.bufferC ? 1 : v_.groups, held = plan_.bufferC ? v_.groups : 1;
    sumsBuffer_ = b_.addBuffer("point_sums", accumulators, splits_ * copies * heldLanes_ * laneSums());
    taps_.scratchBuffer = b_.addBuffer("tap_sums", accumulators, copies * heldLanes_ * laneTaps());
    patches_ = b_.addBuffer("patches", panels, held * box_.points() * bigPoint_);
    tiles_ = b_.addBuffer("tiles", panels, held * box_.points() * smallPoint_);
    if (plan_.bufferC) {
      transformPhase();
      partPhase();
      return b_.finish();
    }
    reductionPhase();
    if (splits_ > 1)
      addPartsCombine(b_, AddedParts{sumsBuffer_, splits_, v_.groups * laneBlocks_ * laneSums(), lanes_});
    tapsPhase();
    addWeightsUnpack(b_, taps_);
    return b_.finish();
  }

 private:
  // F(taps, m): the tile is the filter, the taps are the results.
  WinogradMatrices matricesOf(std::size_t axis) const { return winogradMatrices(box_.taps[axis], box_.axes[axis].m); }
  // Accumulators lie [lane block][point][row][width], sums of taps [lane block][row][tap][width].
  std::int64_t sumPoint() const { return panelPitch(heldRows_ * width_ * 4); }
  std::int64_t laneSums() const { return box_.points() * sumPoint(); }
  std::int64_t tapRow() const { return taps_.taps * width_ * 4; }
  std::int64_t laneTaps() const { return heldRows_ * tapRow(); }
  std::int64_t firstRow(std::int64_t block) const { return box_.rows() * block / reductionBlocks_; }

  // Where both tensors' transforms read and write.
  struct Operands {
    int big, bigOut, small, smallOut;
  };
  Operands addOperands() {
    return Operands{b_.addStream("big", bigBuffer_), b_.addStream("patches_out", patches_),
                    b_.addStream("small", smallBuffer_), b_.addStream("tiles_out", tiles_)};
  }
  int addRows(const Operands& o) {
    return addRowAxis(b_, box_, {tensorStream(o.big, v_.big, box_, true), tensorStream(o.small, v_.small, box_, false)},
                      {{o.bigOut, bigPitch_}, {o.smallOut, smallPitch_}});
  }

  // A row of tiles and patches; of the small tensor the channels that `ranges` gives the class of `rangeAxis`.
  Node transformRow(const Operands& o, int rows, int rangeAxis, const std::vector<Range>& ranges) {
    const int tiles =
        addTileAxis(b_, box_, {tensorStream(o.big, v_.big, box_, true), tensorStream(o.small, v_.small, box_, false)},
                    {{o.bigOut, bigPitch_}, {o.smallOut, smallPitch_}});
    BoxTransform patches;
    patches.matrix = [&](std::size_t axis) { return matricesOf(axis).data; };
    patches.inStride = {v_.big.dStride, v_.big.hStride, v_.big.wStride};
    patches.outStride = pointStrides(box_, bigPoint_);
    patches.inputs = &TileClass::patch;
    BoxTransform filters = patches;
    filters.matrix = [&](std::size_t axis) { return matricesOf(axis).taps; };
    filters.inStride = {v_.small.dStride, v_.small.hStride, v_.small.wStride};
    filters.outStride = pointStrides(box_, smallPoint_);
    filters.inputs = &TileClass::tile;
    const std::vector<PassAxis> ofBig = boxPasses(box_, patches, rows, tiles),
                                ofSmall = boxPasses(box_, filters, rows, tiles);
    const PassChannels bigChannels{lanes_, passVectors(ofBig, registers_, 4), true, false,
                                   -1,     {Range{0, v_.big.channels}}};
    const PassChannels smallChannels{lanes_, passVectors(ofSmall, registers_, 4), true, false, rangeAxis, ranges};
    std::vector<Node> nodes = linearPasses(room_, "big", ofBig, bigChannels, o.big, o.bigOut);
    for (Node& node : linearPasses(room_, "small", ofSmall, smallChannels, o.small, o.smallOut))
      nodes.push_back(std::move(node));
    return loopNode(tiles, std::move(nodes));
  }

  // Streams and axes of the products.
  struct Products {
    int a, lanes, c;
    int rowBlocks, laneBlocks, point;
  };
  Products addProducts() {
    Products p{};
    p.a = b_.addStream("tiles", tiles_);
    p.lanes = b_.addStream("patches", patches_);
    p.c = b_.addStream("sums", sumsBuffer_);
    p.rowBlocks = b_.addAxis("rows", 2);
    for (std::int64_t i = 0; i < rowBlocks_; ++i) {
      b_.addStep(p.rowBlocks, {{p.a, i * plan_.registerRows * 4}, {p.c, i * plan_.registerRows * width_ * 4}},
                 (i + 1) * plan_.registerRows <= v_.small.channels ? 0 : 1);
    }
    p.laneBlocks = b_.addAxis("lanes", 2);
    for (std::int64_t i = 0; i < laneBlocks_; ++i)
      b_.addStep(p.laneBlocks, {{p.lanes, i * width_ * 4}, {p.c, i * laneSums()}},
                 (i + 1) * width_ <= v_.big.channels ? 0 : 1);
    p.point = b_.addUniformAxis("point", box_.points(), {{p.a, smallPoint_}, {p.lanes, bigPoint_}, {p.c, sumPoint()}});
    return p;
  }

  // Whole blocks of rows, then the narrow one, over so many tiles.
  void addVariants(Call& call, std::int64_t tiles, bool first) {
    const std::int64_t channels = v_.small.channels, base = plan_.registerRows;
    for (const std::int64_t rows : {channels >= base ? base : 0, channels % base}) {
      if (rows == 0) {
        call.variants.emplace_back();
        continue;
      }
      const PointProduct product{rows, plan_.registerVectors, lanes_, plan_.unroll, 4, smallPitch_, bigPitch_};
      Contract kernel = productKernel(product);
      kernel.addsToC = true;
      call.variants.push_back(
          Variant{b_.addKernel(std::move(kernel)), b_.addList(productList(product, tiles)), !first});
    }
  }

  double productCycles() const {
    return static_cast<double>(v_.groups * box_.rows() * box_.tilesOfRow() * box_.points()) *
           static_cast<double>(v_.small.channels * laneBlocks_ * plan_.registerVectors);
  }

  // Tasks are parts of the tiles, or of the rows.
  void reductionPhase() {
    b_.beginPhase("winograd");
    room_.enterPhase();
    const Operands o = addOperands();
    const Products p = addProducts();
    const int groups = b_.addUniformAxis(
        "g", v_.groups,
        {{o.big, v_.big.groupStride()}, {o.small, v_.small.groupStride()}, {p.c, laneBlocks_ * laneSums()}});
    const int rows = addRows(o);
    const int block = b_.addPartition("reduction_block", rows, reductionBlocks_);
    for (std::int64_t i = 0; i < reductionBlocks_; ++i) {  // panels start with the block's first row
      b_.moveStep(block, i, o.bigOut, -firstRow(i) * box_.tilesOfRow() * bigPitch_);
      b_.moveStep(block, i, o.smallOut, -firstRow(i) * box_.tilesOfRow() * smallPitch_);
    }
    const int split = b_.addPartition("split", block, splits_);
    for (std::int64_t i = 0; i < splits_; ++i) b_.moveStep(split, i, p.c, i * v_.groups * laneBlocks_ * laneSums());
    const int rowPart = b_.addPartition("row_part", p.rowBlocks, rowParts_);
    std::vector<Range> ranges;
    for (const Window& w : b_.phase().axes[static_cast<std::size_t>(p.rowBlocks)].windows)
      ranges.push_back(Range{w.begin * plan_.registerRows, std::min(w.end * plan_.registerRows, v_.small.channels)});
    std::vector<Node> body;
    body.push_back(loopNode(rows, {transformRow(o, rows, rowPart, ranges)}));
    Call call{"multiply", p.a, p.lanes, p.c, {block, p.rowBlocks}, {}};
    for (std::int64_t i = 0; i < reductionBlocks_; ++i)
      addVariants(call, (firstRow(i + 1) - firstRow(i)) * box_.tilesOfRow(), isFirst(i));
    for (Node& node : nest({p.point, p.laneBlocks, p.rowBlocks}, {chainedCall(b_, std::move(call))}))
      body.push_back(std::move(node));
    b_.phase().parallelAxes = {groups, split, rowPart};
    b_.phase().body = {loopNode(block, std::move(body))};
    b_.phase().workCycles = productCycles();
  }

  // The first reduction block of a part starts its sums.
  bool isFirst(std::int64_t block) const {
    for (std::int64_t s = 0; s < splits_; ++s) {
      if (reductionBlocks_ * s / splits_ == block) return true;
    }
    return false;
  }
  // All patches and tiles.
  void transformPhase() {
    b_.beginPhase("transform");
    room_.enterPhase();
    const Operands o = addOperands();
    const int groups = b_.addUniformAxis("g", v_.groups,
                                         {{o.big, v_.big.groupStride()},
                                          {o.small, v_.small.groupStride()},
                                          {o.bigOut, box_.points() * bigPoint_},
                                          {o.smallOut, box_.points() * smallPoint_}});
    const int rows = addRows(o);
    b_.phase().parallelAxes = {groups, rows};
    b_.phase().body = {transformRow(o, rows, -1, {Range{0, v_.small.channels}})};
    b_.phase().workCycles = static_cast<double>(v_.groups * box_.points() * (bigPoint_ + smallPoint_)) / 64.0 * 6.0;
  }

  // Tasks are parts of dw: products over all tiles, sums of taps, dw.
  void partPhase() {
    b_.beginPhase("winograd");
    room_.enterPhase();
    const Products p = addProducts();
    const int points = b_.addStream("points", sumsBuffer_), taps = b_.addStream("taps", taps_.scratchBuffer),
              sums = b_.addStream("tap_sums", taps_.scratchBuffer), dw = b_.addStream("dw", taps_.dwBuffer);
    const int groups = b_.addUniformAxis(
        "g", v_.groups,
        {{p.a, box_.points() * smallPoint_}, {p.lanes, box_.points() * bigPoint_}, {dw, taps_.dw.group}});
    const std::int64_t base = plan_.registerRows;
    for (std::int64_t i = 0; i < rowBlocks_; ++i) {
      b_.moveStep(p.rowBlocks, i, points, i * base * width_ * 4);
      for (const int stream : {taps, sums}) b_.moveStep(p.rowBlocks, i, stream, i * base * tapRow());
    }
    for (std::int64_t i = 0; i < laneBlocks_; ++i) {
      b_.moveStep(p.laneBlocks, i, points, i * laneSums());
      for (const int stream : {taps, sums}) b_.moveStep(p.laneBlocks, i, stream, i * laneTaps());
    }
    const int rowPart = b_.addPartition("row_part", p.rowBlocks, rowParts_),
              lanePart = b_.addPartition("lane_part", p.laneBlocks, laneParts_);
    // Accumulators hold only the task's.
    for (std::int64_t i = 0; i < rowParts_; ++i) {
      const std::int64_t before = rowBlocks_ * i / rowParts_ * base;
      for (const int stream : {p.c, points}) b_.moveStep(rowPart, i, stream, -before * width_ * 4);
      for (const int stream : {taps, sums}) b_.moveStep(rowPart, i, stream, -before * tapRow());
    }
    for (std::int64_t i = 0; i < laneParts_; ++i) {
      const std::int64_t before = laneBlocks_ * i / laneParts_;
      for (const int stream : {p.c, points}) b_.moveStep(lanePart, i, stream, -before * laneSums());
      for (const int stream : {taps, sums}) b_.moveStep(lanePart, i, stream, -before * laneTaps());
    }
    Call call{"multiply", p.a, p.lanes, p.c, {p.rowBlocks}, {}};
    addVariants(call, box_.rows() * box_.tilesOfRow(), true);
    std::vector<Node> body = nest({p.point, p.laneBlocks, p.rowBlocks}, {chainedCall(b_, std::move(call))});
    const int row = b_.addUniformAxis("row", base, {{points, width_ * 4}, {taps, tapRow()}});
    Axis& rowsOfBlock = b_.phase().axes[static_cast<std::size_t>(row)];
    rowsOfBlock.windowAxis = p.rowBlocks;
    rowsOfBlock.windows = {Window{0, static_cast<int>(base)}, Window{0, static_cast<int>(v_.small.channels % base)}};
    for (Node& node : nest({p.laneBlocks, p.rowBlocks, row}, tapsOf(points, taps))) body.push_back(std::move(node));
    body.push_back(unpackTask(b_, taps_, base, UnpackStreams{sums, dw}, p.rowBlocks, p.laneBlocks));
    b_.phase().parallelAxes = {groups, lanePart, rowPart};
    b_.phase().body = std::move(body);
    b_.phase().workCycles = productCycles();
  }

  // Shared accumulators, when they are complete.
  void tapsPhase() {
    b_.beginPhase("transform_taps");
    room_.enterPhase();
    const int src = b_.addStream("points", sumsBuffer_), dst = b_.addStream("taps", taps_.scratchBuffer);
    const std::int64_t row = width_ * 4, inOneLoop = divisorAtMost(v_.small.channels, 16);
    const int groups =
        b_.addUniformAxis("g", v_.groups, {{src, laneBlocks_ * laneSums()}, {dst, groupScratchBytes(taps_)}});
    const int blocks = b_.addUniformAxis("lanes", laneBlocks_, {{src, laneSums()}, {dst, laneTaps()}});
    const int outer =
        b_.addUniformAxis("row0", v_.small.channels / inOneLoop, {{src, inOneLoop * row}, {dst, inOneLoop * tapRow()}});
    const int inner = b_.addUniformAxis("row", inOneLoop, {{src, row}, {dst, tapRow()}});
    b_.phase().parallelAxes = {groups, blocks, outer};
    b_.phase().body = nest({inner}, tapsOf(src, dst));
    b_.phase().workCycles = static_cast<double>(v_.groups * laneBlocks_ * laneSums()) / 64.0 * 6.0;
  }

  // A row's points into its taps.
  std::vector<Node> tapsOf(int points, int taps) {
    BoxTransform transform;
    transform.matrix = [&](std::size_t axis) { return matricesOf(axis).results; };
    transform.inStride = pointStrides(box_, sumPoint());
    transform.outStride = tapStrides(box_, width_ * 4);
    const std::vector<PassAxis> passes = boxPasses(box_, transform, -1, -1);
    const PassChannels channels{
        lanes_, passVectors(passes, registers_, plan_.registerVectors), false, false, -1, {Range{0, width_}}};
    return linearPasses(room_, "taps", passes, channels, points, taps);
  }

  const WinogradWeightsPlan& plan_;
  const int lanes_;
  const std::int64_t registers_;
  ProgramBuilder b_;
  PassRoom room_{b_};
  const ConvView v_;
  const TileBox box_;
  std::int64_t width_ = 16, laneBlocks_ = 1, rowBlocks_ = 1, laneParts_ = 1, rowParts_ = 1, reductionBlocks_ = 1,
               splits_ = 1;
  std::int64_t bigPitch_ = 0, smallPitch_ = 0, bigPoint_ = 0, smallPoint_ = 0, heldRows_ = 1, heldLanes_ = 1;
  WeightsScratch taps_;
  int sumsBuffer_ = -1, bigBuffer_ = -1, smallBuffer_ = -1, patches_ = -1, tiles_ = -1;
};

}  // namespace

Result<TileProgram> lowerWinogradWeights(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                         const ResultOps& /*none*/) {
  return WinogradWeightsLowering(problem, plan.as<WinogradWeightsPlan>(), machine).run();
}

}  // namespace cubejit
