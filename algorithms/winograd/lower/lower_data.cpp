// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a data gradient by Winograd's minimal filtering: patches of dY and weights are transformed, points
// are multiplied (one matrix product a point, over reduced channels), products are transformed into tiles of dX.
// Usually weights are transformed once for all, and a task transforms the patches of its rows of tiles. With panel_b it is the
// other way round: all patches first, and a task transforms the packed weights of its block of channels, panel_d reduced channels
// at a time, which then stay in its L2.
// Leaves transforms to linear_transforms, tiles to tile_box, sizes to the plan.
#include <algorithm>
#include <utility>

#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/pack_weights.h"
#include "algorithms/kit/lower/point_product.h"
#include "algorithms/kit/lower/tile_box.h"
#include "algorithms/kit/panel_pitch.h"
#include "algorithms/winograd/lower/matrices.h"
#include "algorithms/winograd/winograd.h"

namespace cubejit {
namespace {

// Where a patch of the operand starts before its tile of results: correlation with the taps from their other end (ordinary).
Dhw patchPad(const ConvView& v) {
  if (!v.bigIsX) return v.pad;
  return Dhw{v.kernel.d - 1 - v.pad.d, v.kernel.h - 1 - v.pad.h, v.kernel.w - 1 - v.pad.w};
}

class WinogradDataLowering {
 public:
  WinogradDataLowering(const Problem& problem, const WinogradDataPlan& plan, const Machine& machine,
                       const ResultOps& ops)
      : plan_(plan),
        lanes_(machine.isa.lanes()),
        registers_(passRegisters(machine.isa)),
        b_(problemLabel(problem, Pass::kDx)),
        epilogue_(b_, ops, lanes_),
        g_(makeDataGradient(problem, OneAxis::kOnW)),
        box_(makeTileBox({plan.tileD, plan.tileH, plan.tileW}, g_.view, g_.result, g_.operand, patchPad(g_.view))) {
    width_ = plan.registerVectors * lanes_;
    reduced_ = g_.operand.channels;
    blocks_ = (g_.result.channels + width_ - 1) / width_;
    packing_ = PackedWeights{lanes_, width_, blocks_, g_.result.channels, reduced_, false, true};
    reductionBlocks_ =
        plan.perTask ? std::max<std::int64_t>(1, (reduced_ + plan.cacheChannels - 1) / plan.cacheChannels) : 1;
    parts_ = std::max<std::int64_t>(1, (box_.rows() + plan.cacheRows - 1) / plan.cacheRows);
    const std::int64_t partTiles = (box_.rows() + parts_ - 1) / parts_ * box_.tilesOfRow(),
                       allTiles = box_.rows() * box_.tilesOfRow();
    dataPitch_ = panelPitch((reduced_ + lanes_ - 1) / lanes_ * lanes_ * 4);
    dataPoint_ = panelPitch((plan.perTask ? allTiles : partTiles) * dataPitch_);
    productPoint_ = panelPitch(partTiles * width_ * 4);
  }

  TileProgram run() {
    operandBuffer_ = b_.addTensor(TensorId::kDy, g_.operand.span);
    weights_ = b_.addTensor(TensorId::kW, g_.weightBytes);
    resultBuffer_ = b_.addTensor(TensorId::kDx, g_.result.bytes);
    epilogue_.begin(g_.result, g_.view.groups, resultBuffer_);
    const bool inTask = plan_.perTask;
    const std::int64_t held = inTask ? 1 : g_.view.groups * blocks_;
    const Buffer::Use filters = inTask ? Buffer::Use::kPrivate : Buffer::Use::kShared,
                      patches = inTask ? Buffer::Use::kShared : Buffer::Use::kPrivate;
    packed_ =
        inTask
            ? b_.addBuffer("packed_w", Buffer::Use::kShared, g_.view.groups * blocks_ * packing_.blockBytes(g_))
            : b_.addBuffer("packed_w", Buffer::Use::kPrivate, channelsOfPack(g_, packing_) * packing_.reducedPitch(g_));
    filters_ = b_.addBuffer("filter", filters, held * filterBytes());
    data_ = b_.addBuffer("data", patches, (inTask ? g_.view.groups : 1) * dataBytes());
    if (inTask) {
      addPackPhase(b_, g_, packing_, weights_, packed_);
      patchPhase();
    } else {
      filterPhase();
    }
    productPhase();
    epilogue_.end();
    return b_.finish();
  }

 private:
  std::int64_t tapBytes() const { return reduced_ * width_ * 4; }  // of a block of packed weights
  std::int64_t firstChannel(std::int64_t block) const { return reduced_ * block / reductionBlocks_; }
  std::int64_t pointBytes() const {  // of a block of the filter
    return panelPitch((reduced_ + reductionBlocks_ - 1) / reductionBlocks_ * width_ * 4);
  }
  std::int64_t filterBytes() const { return box_.points() * pointBytes(); }
  std::int64_t dataBytes() const { return box_.points() * dataPoint_; }
  std::int64_t tilesBefore(std::int64_t part) const { return box_.rows() * part / parts_ * box_.tilesOfRow(); }
  WinogradMatrices matricesOf(std::size_t axis) const { return winogradMatrices(box_.axes[axis].m, box_.taps[axis]); }

  // The weights of all channel blocks, read from front to back.
  void filterPhase() {
    b_.beginPhase("transform_weights");
    room_.enterPhase();
    const int src = b_.addStream("w", weights_), packed = b_.addStream("packed", packed_),
              dst = b_.addStream("filter", filters_);
    const int groups = b_.addUniformAxis("g", g_.view.groups, {{src, g_.wGroup}, {dst, blocks_ * filterBytes()}});
    const int blocks = b_.addAxis("n", 2);
    for (std::int64_t i = 0; i < blocks_; ++i) {
      b_.addStep(blocks, {{src, i * width_ * g_.wResult}, {dst, i * filterBytes()}},
                 (i + 1) * width_ <= g_.result.channels ? 0 : 1);
    }
    // Channels that lie side by side in w are packed together, and transformed one by one.
    const std::int64_t together = channelsOfPack(g_, packing_),
                       inOneLoop = together > 1 ? together : divisorAtMost(reduced_, 32);
    const int outer =
        b_.addUniformAxis("k0", reduced_ / inOneLoop, {{src, inOneLoop * g_.wReduced}, {dst, inOneLoop * width_ * 4}});
    const int inner = b_.addUniformAxis(
        "k", inOneLoop,
        {together > 1 ? std::pair{packed, packing_.reducedPitch(g_)} : std::pair{src, g_.wReduced}, {dst, width_ * 4}});
    std::vector<Node> channel = packChannels(b_, g_, packing_, src, packed, blocks), filter = filterOf(packed, dst);
    if (together > 1) filter = nest({inner}, std::move(filter));
    for (Node& node : filter) channel.push_back(std::move(node));
    b_.phase().parallelAxes = {groups, outer};
    b_.phase().body = nest(together > 1               ? std::vector<int>{blocks}
                           : g_.wReduced > g_.wResult ? std::vector<int>{inner, blocks}
                                                      : std::vector<int>{blocks, inner},
                           std::move(channel));
    b_.phase().workCycles = static_cast<double>(g_.view.groups * blocks_ * filterBytes()) / 64.0 * 8.0;
  }

  // A reduced channel of a block: packed [tap][width] -> filter [point][reduced][width].
  std::vector<Node> filterOf(int src, int dst) {
    BoxTransform transform;
    transform.matrix = [&](std::size_t axis) {
      const Matrix taps = matricesOf(axis).taps;
      return g_.gather ? reversedColumns(taps) : taps;
    };
    transform.inStride = tapStrides(box_, packing_.tapPitch());
    transform.outStride = pointStrides(box_, pointBytes());
    const std::vector<PassAxis> passes = boxPasses(box_, transform, -1, -1);
    const PassChannels channels{
        lanes_, passVectors(passes, registers_, plan_.registerVectors), false, false, -1, {Range{0, width_}}};
    return linearPasses(room_, "w", passes, channels, src, dst);
  }

  // The patches of all rows of tiles.
  void patchPhase() {
    b_.beginPhase("transform_dy");
    room_.enterPhase();
    const int dy = b_.addStream("dy", operandBuffer_), data = b_.addStream("data", data_);
    const int groups = b_.addUniformAxis("g", g_.view.groups, {{dy, g_.operand.groupStride()}, {data, dataBytes()}});
    const int rows = addRowAxis(b_, box_, {tensorStream(dy, g_.operand, box_, true)}, {{data, dataPitch_}});
    b_.phase().parallelAxes = {groups, rows};
    b_.phase().body = {patchesOf(dy, data, rows)};
    b_.phase().workCycles = static_cast<double>(g_.view.groups * dataBytes()) / 64.0 * 6.0;
  }

  // The patches of a row of tiles.
  Node patchesOf(int dy, int data, int rows) {
    const int tiles = addTileAxis(b_, box_, {tensorStream(dy, g_.operand, box_, true)}, {{data, dataPitch_}});
    BoxTransform transform;
    transform.matrix = [&](std::size_t axis) { return matricesOf(axis).data; };
    transform.inStride = {g_.operand.dStride, g_.operand.hStride, g_.operand.wStride};
    transform.outStride = pointStrides(box_, dataPoint_);
    transform.inputs = &TileClass::patch;
    const std::vector<PassAxis> passes = boxPasses(box_, transform, rows, tiles);
    const PassChannels channels{lanes_, passVectors(passes, registers_, 4), true, false, -1, {Range{0, reduced_}}};
    return loopNode(tiles, linearPasses(room_, "dy", passes, channels, dy, data));
  }

  void productPhase() {
    b_.beginPhase("winograd");
    room_.enterPhase();
    const bool inTask = plan_.perTask;
    const int productBuffer = b_.addBuffer("products", Buffer::Use::kPrivate, box_.points() * productPoint_);
    const int a = b_.addStream("data", data_), filter = b_.addStream("filter", filters_),
              c = b_.addStream("products", productBuffer), products = b_.addStream("products_in", productBuffer),
              dx = b_.addStream("dx", resultBuffer_);
    // What the task transforms itself.
    const int source = b_.addStream(inTask ? "packed" : "dy", inTask ? packed_ : operandBuffer_),
              sink = b_.addStream(inTask ? "filter_out" : "data_out", inTask ? filters_ : data_);

    epilogue_.enterPhase();
    const int groups = b_.addAxis("g");
    for (std::int64_t i = 0; i < g_.view.groups; ++i) {
      b_.addStep(groups, {{dx, i * g_.result.groupStride()},
                          epilogue_.toChannel(i * g_.result.channels),
                          {source, i * (inTask ? blocks_ * packing_.blockBytes(g_) : g_.operand.groupStride())},
                          inTask ? std::pair{a, i * dataBytes()} : std::pair{filter, i * blocks_ * filterBytes()}});
    }
    const int rowsOut = addRowAxis(b_, box_, {tensorStream(dx, g_.result, box_, false)}, {{products, width_ * 4}});
    const int part = b_.addPartition("rows", rowsOut, parts_);
    for (std::int64_t i = 0; i < parts_; ++i) {  // a task's panels start with its first row
      b_.moveStep(part, i, products, -tilesBefore(i) * width_ * 4);
      b_.moveStep(part, i, inTask ? a : sink, tilesBefore(i) * (inTask ? dataPitch_ : -dataPitch_));
    }
    const int blocks = b_.addAxis("channels", 2);
    for (std::int64_t i = 0; i < blocks_; ++i) {
      b_.addStep(blocks,
                 {{dx, i * width_ * 4},
                  epilogue_.toChannel(i * width_),
                  inTask ? std::pair{source, i * packing_.blockBytes(g_)} : std::pair{filter, i * filterBytes()}},
                 (i + 1) * width_ <= g_.result.channels ? 0 : 1);
    }
    const int point =
        b_.addUniformAxis("point", box_.points(), {{a, dataPoint_}, {filter, pointBytes()}, {c, productPoint_}});
    std::vector<Node> block;
    std::vector<Node> body;
    if (inTask) {
      const int k = b_.addUniformAxis("k", reduced_, {{source, packing_.reducedPitch(g_)}, {sink, width_ * 4}});
      const int kBlock = b_.addPartition("k_block", k, reductionBlocks_);
      for (std::int64_t i = 0; i < reductionBlocks_; ++i) {  // the panel of filters starts with its first channel
        b_.moveStep(kBlock, i, sink, -firstChannel(i) * width_ * 4);
        b_.moveStep(kBlock, i, a, firstChannel(i) * 4);
      }
      std::vector<Node> blockBody;
      blockBody.push_back(loopNode(k, filterOf(source, sink)));
      blockBody.push_back(loopNode(point, {multiply(a, filter, c, part, kBlock)}));
      block.push_back(loopNode(kBlock, std::move(blockBody)));
      block.push_back(loopNode(rowsOut, {tilesBack(products, dx, rowsOut, blocks)}));
      body.push_back(loopNode(part, std::move(block)));
      b_.phase().parallelAxes = {groups, blocks};
    } else {
      const int rowsIn = addRowAxis(b_, box_, {tensorStream(source, g_.operand, box_, true)}, {{sink, dataPitch_}});
      dealLike(rowsIn, rowsOut);
      body.push_back(loopNode(rowsIn, {patchesOf(source, sink, rowsIn)}));
      block.push_back(loopNode(point, {multiply(a, filter, c, part, -1)}));
      block.push_back(loopNode(rowsOut, {tilesBack(products, dx, rowsOut, blocks)}));
      const int channelPart = b_.addPartition("channel_part", blocks, std::min(plan_.channelParts, blocks_));
      body.push_back(loopNode(blocks, std::move(block)));
      b_.phase().parallelAxes = {groups, part, channelPart};
    }
    b_.phase().body = std::move(body);
    b_.phase().workCycles = static_cast<double>(g_.view.groups * box_.rows() * box_.tilesOfRow() * box_.points()) *
                            static_cast<double>(reduced_ * blocks_ * plan_.registerVectors);
  }

  // `axis` is dealt as `other` is.
  void dealLike(int axis, int other) {
    const Axis& dealt = b_.phase().axes[static_cast<std::size_t>(other)];
    b_.phase().axes[static_cast<std::size_t>(axis)].windowAxis = dealt.windowAxis;
    b_.phase().axes[static_cast<std::size_t>(axis)].windows = dealt.windows;
  }

  // The tiles of a row, of the current block of channels.
  Node tilesBack(int products, int dx, int rows, int blocks) {
    const int tiles = addTileAxis(b_, box_, {tensorStream(dx, g_.result, box_, false)}, {{products, width_ * 4}});
    BoxTransform transform;
    transform.matrix = [&](std::size_t axis) { return matricesOf(axis).results; };
    transform.inStride = pointStrides(box_, productPoint_);
    transform.outStride = {g_.result.dStride, g_.result.hStride, g_.result.wStride};
    transform.outputs = &TileClass::tile;
    transform.fromW = false;
    const std::vector<PassAxis> passes = boxPasses(box_, transform, rows, tiles);
    const PassChannels channels{
        lanes_,    passVectors(passes, registers_, plan_.registerVectors),
        false,     true,
        blocks,    {Range{0, std::min(width_, g_.result.channels)}, Range{0, g_.result.channels % width_}},
        &epilogue_};
    return loopNode(tiles, linearPasses(room_, "dx", passes, channels, products, dx));
  }

  // For the current point and channel block, over the channels of a reduction block (-1: all of them): rows are the part's tiles,
  // in blocks of nearly equal size.
  Node multiply(int a, int filter, int c, int part, int kBlock) {
    const int rows = b_.addAxis("tiles");
    std::vector<std::int64_t> sizes;  // distinct numbers of rows, by class
    std::vector<Window> windows;
    for (std::int64_t i = 0; i < parts_; ++i) {
      const std::int64_t tiles = tilesBefore(i + 1) - tilesBefore(i),
                         count = (tiles + plan_.registerRows - 1) / plan_.registerRows;
      const auto begin = static_cast<int>(b_.axisSteps(rows));
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t start = tiles * k / count, size = tiles * (k + 1) / count - start;
        const auto known = std::find(sizes.begin(), sizes.end(), size);
        b_.addStep(rows, {{a, start * dataPitch_}, {c, start * width_ * 4}}, static_cast<int>(known - sizes.begin()));
        if (known == sizes.end()) sizes.push_back(size);
      }
      windows.push_back(Window{begin, static_cast<int>(b_.axisSteps(rows))});
    }
    Axis& axis = b_.phase().axes[static_cast<std::size_t>(rows)];
    axis.classes = static_cast<int>(sizes.size());
    axis.windowAxis = part;
    axis.windows = std::move(windows);
    Call call{"multiply", a, filter, c, {rows}, {}};
    if (kBlock >= 0) call.classAxes.push_back(kBlock);
    for (const std::int64_t size : sizes) {
      const PointProduct product{size, plan_.registerVectors, lanes_, plan_.unroll, dataPitch_, 4, width_ * 4};
      const int kernel = b_.addKernel(productKernel(product));
      for (std::int64_t i = 0; i < reductionBlocks_; ++i) {
        const SegmentList list = productList(product, firstChannel(i + 1) - firstChannel(i));
        call.variants.push_back(Variant{kernel, b_.addList(list), i > 0});
      }
    }
    return loopNode(rows, {callNode(std::move(call))});
  }

  const WinogradDataPlan& plan_;
  const int lanes_;
  const std::int64_t registers_;
  ProgramBuilder b_;
  PassRoom room_{b_};
  Epilogue epilogue_;
  const DataGradient g_;
  const TileBox box_;
  std::int64_t width_ = 16, reduced_ = 1, blocks_ = 1, parts_ = 1, reductionBlocks_ = 1;
  std::int64_t dataPitch_ = 0, dataPoint_ = 0, productPoint_ = 0;
  PackedWeights packing_;
  int operandBuffer_ = -1, resultBuffer_ = -1, weights_ = -1, packed_ = -1, filters_ = -1, data_ = -1;
};

}  // namespace

Result<TileProgram> lowerWinogradData(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                      const ResultOps& ops) {
  return WinogradDataLowering(problem, plan.as<WinogradDataPlan>(), machine, ops).run();
}

}  // namespace cubejit
