// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a data gradient by Winograd's minimal filtering: weights are transformed once, a task transforms
// the patches of dY of its rows of tiles, multiplies point by point (one matrix product a point, over reduced channels) and
// transforms the products into its tiles of dX.
// Leaves transforms to linear_passes, tiles to winograd_box, sizes to the plan.
#include <algorithm>
#include <utility>

#include "codegen/lower/data_gradient.h"
#include "codegen/lower/pack_weights.h"
#include "codegen/lower/winograd_box.h"

namespace cubejit {
namespace {

// Where a patch of the operand starts before its tile of results: correlation with the taps from their other end (ordinary).
Dhw patchPad(const ConvView& v) {
  if (!v.bigIsX) return v.pad;
  return Dhw{v.kernel.d - 1 - v.pad.d, v.kernel.h - 1 - v.pad.h, v.kernel.w - 1 - v.pad.w};
}

class Lowering {
 public:
  Lowering(const Problem& problem, const TilingPlan& plan, const Machine& machine)
      : plan_(plan),
        lanes_(machine.isa.lanes()),
        registers_(machine.isa.vectorRegs - (machine.isa.maskRegs > 0 ? 0 : 3)),
        b_(problemLabel(problem, plan)),
        g_(makeDataGradient(problem, false)),
        box_(makeWinogradBox(plan, g_.view, g_.result, g_.operand, patchPad(g_.view))) {
    width_ = plan.baseVectors * lanes_;
    reduced_ = g_.operand.channels;
    blocks_ = (g_.result.channels + width_ - 1) / width_;
    packing_ = PackedWeights{lanes_, width_, blocks_, g_.result.channels, reduced_, false};
    parts_ = std::max<std::int64_t>(1, (box_.rows() + plan.panelH - 1) / plan.panelH);
  }

  TileProgram run() {
    operandBuffer_ = b_.addBuffer("dy", BufferRole::kDy, g_.operand.bytes);
    const int weights = b_.addBuffer("w", BufferRole::kW, g_.weightBytes);
    resultBuffer_ = b_.addBuffer("dx", BufferRole::kDx, g_.result.bytes);
    const int packed =
        b_.addBuffer("packed_w", BufferRole::kShared, g_.view.groups * blocks_ * packing_.blockBytes(g_));
    filterBuffer_ = b_.addBuffer("filter", BufferRole::kShared, g_.view.groups * blocks_ * filterBytes());
    addPackPhase(b_, g_, packing_, weights, packed);
    filterPhase(packed);
    productPhase();
    return b_.finish();
  }

 private:
  std::int64_t pointBytes() const { return reduced_ * width_ * 4; }  // of a block of the filter
  std::int64_t filterBytes() const { return box_.points() * pointBytes(); }
  WinogradMatrices matricesOf(std::size_t axis) const { return winogradMatrices(box_.axes[axis].m, box_.taps[axis]); }

  // packed [block][tap][reduced][width] -> filter [block][point][reduced][width]
  void filterPhase(int packed) {
    b_.beginPhase("transform_weights");
    room_.enterPhase();
    const int src = b_.addStream("packed", packed), dst = b_.addStream("filter", filterBuffer_);
    const int groups = b_.addUniformAxis("g", g_.view.groups,
                                         {{src, blocks_ * packing_.blockBytes(g_)}, {dst, blocks_ * filterBytes()}});
    const int blocks = b_.addUniformAxis("n", blocks_, {{src, packing_.blockBytes(g_)}, {dst, filterBytes()}});
    const std::int64_t row = width_ * 4, chunk = divisorAtMost(reduced_, 32);
    const int outer = b_.addUniformAxis("k0", reduced_ / chunk, {{src, chunk * row}, {dst, chunk * row}});
    const int inner = b_.addUniformAxis("k", chunk, {{src, row}, {dst, row}});
    BoxTransform transform;
    transform.matrix = [&](std::size_t axis) {
      const Matrix taps = matricesOf(axis).taps;
      return g_.gather ? reversedColumns(taps) : taps;
    };
    transform.inStride = tapStrides(box_, pointBytes());
    transform.outStride = pointStrides(box_, pointBytes());
    const std::vector<PassAxis> passes = boxPasses(box_, transform, -1, -1);
    PassChannels channels{
        lanes_, passVectors(passes, registers_, plan_.baseVectors), false, false, -1, {Extent{0, width_}}};
    b_.phase().parallelAxes = {groups, blocks, outer};
    b_.phase().body = nest({inner}, linearPasses(room_, "w", passes, channels, src, dst));
    b_.phase().workCycles = static_cast<double>(g_.view.groups * blocks_ * filterBytes()) / 64.0 * 8.0;
  }

  void productPhase() {
    b_.beginPhase("winograd");
    room_.enterPhase();
    const std::int64_t tasksRows = (box_.rows() + parts_ - 1) / parts_, mostTiles = tasksRows * box_.tilesOfRow();
    const std::int64_t dataPitch = panelPitch((reduced_ + lanes_ - 1) / lanes_ * lanes_ * 4), productPitch = width_ * 4;
    const std::int64_t dataPoint = panelPitch(mostTiles * dataPitch),
                       productPoint = panelPitch(mostTiles * productPitch);
    const int dataBuffer = b_.addBuffer("data", BufferRole::kPrivate, box_.points() * dataPoint);
    const int productBuffer = b_.addBuffer("products", BufferRole::kPrivate, box_.points() * productPoint);
    const int dy = b_.addStream("dy", operandBuffer_), dataIn = b_.addStream("data_out", dataBuffer);
    const int a = b_.addStream("data", dataBuffer), filter = b_.addStream("filter", filterBuffer_),
              c = b_.addStream("products", productBuffer);
    const int products = b_.addStream("products_in", productBuffer), dx = b_.addStream("dx", resultBuffer_);

    const int groups = b_.addUniformAxis(
        "g", g_.view.groups,
        {{dy, g_.operand.groupStride()}, {filter, blocks_ * filterBytes()}, {dx, g_.result.groupStride()}});
    // Patches of dY in, tiles of dX out: two walks over the same rows.
    const std::vector<TileStream> patches{tensorStream(dy, g_.operand, box_, true)},
        tiles{tensorStream(dx, g_.result, box_, false)};
    const int rowsIn = addRowAxis(b_, box_, patches, {{dataIn, dataPitch}});
    const int tilesIn = addTileAxis(b_, box_, patches, {{dataIn, dataPitch}});
    const int rowsOut = addRowAxis(b_, box_, tiles, {{products, productPitch}});
    const int tilesOut = addTileAxis(b_, box_, tiles, {{products, productPitch}});
    const int part = b_.addDeal("rows", rowsIn, parts_);
    dealLike(rowsOut, rowsIn);
    for (std::int64_t i = 0; i < parts_; ++i) {  // panels start with the part's first row
      const std::int64_t before = box_.rows() * i / parts_ * box_.tilesOfRow();
      AxisStep& step = b_.phase().axes[static_cast<std::size_t>(part)].steps[static_cast<std::size_t>(i)];
      step.delta.resize(b_.phase().streams.size(), 0);
      step.delta[static_cast<std::size_t>(dataIn)] = -before * dataPitch;
      step.delta[static_cast<std::size_t>(products)] = -before * productPitch;
    }
    const int blocks = b_.addAxis("channels", 2);
    for (std::int64_t i = 0; i < blocks_; ++i) {
      b_.addStep(blocks, {{filter, i * filterBytes()}, {dx, i * width_ * 4}},
                 (i + 1) * width_ <= g_.result.channels ? 0 : 1);
    }
    const int channelPart = b_.addDeal("channel_part", blocks, std::min(plan_.cores.channelsN, blocks_));
    const int point =
        b_.addUniformAxis("point", box_.points(), {{a, dataPoint}, {filter, pointBytes()}, {c, productPoint}});
    std::vector<Node> body;
    body.push_back(loopNode(rowsIn, {loopNode(tilesIn, patchesIn(dy, dataIn, rowsIn, tilesIn, dataPoint))}));
    std::vector<Node> block;
    block.push_back(loopNode(point, {multiply(a, filter, c, part, dataPitch)}));
    block.push_back(loopNode(
        rowsOut, {loopNode(tilesOut, tilesBack(products, dx, OutAxes{rowsOut, tilesOut, blocks}, productPoint))}));
    body.push_back(loopNode(blocks, std::move(block)));
    b_.phase().parallelAxes = {groups, part, channelPart};
    b_.phase().body = std::move(body);
    b_.phase().workCycles = static_cast<double>(g_.view.groups * box_.rows() * box_.tilesOfRow() * box_.points()) *
                            static_cast<double>(reduced_ * blocks_ * plan_.baseVectors);
  }

  // `axis` is dealt as `other` is.
  void dealLike(int axis, int other) {
    const Axis& dealt = b_.phase().axes[static_cast<std::size_t>(other)];
    b_.phase().axes[static_cast<std::size_t>(axis)].windowAxis = dealt.windowAxis;
    b_.phase().axes[static_cast<std::size_t>(axis)].windows = dealt.windows;
  }

  std::vector<Node> patchesIn(int dy, int data, int rowAxis, int tileAxis, std::int64_t dataPoint) {
    BoxTransform transform;
    transform.matrix = [&](std::size_t axis) { return matricesOf(axis).data; };
    transform.inStride = {g_.operand.dStride, g_.operand.hStride, g_.operand.wStride};
    transform.outStride = pointStrides(box_, dataPoint);
    transform.inputs = &TileClass::patch;
    const std::vector<PassAxis> passes = boxPasses(box_, transform, rowAxis, tileAxis);
    const PassChannels channels{lanes_, passVectors(passes, registers_, 4), true, false, -1, {Extent{0, reduced_}}};
    return linearPasses(room_, "dy", passes, channels, dy, data);
  }

  struct OutAxes {
    int row, tile, blocks;
  };
  // A channel block's tiles.
  std::vector<Node> tilesBack(int products, int dx, const OutAxes& axes, std::int64_t productPoint) {
    BoxTransform transform;
    transform.matrix = [&](std::size_t axis) { return matricesOf(axis).results; };
    transform.inStride = pointStrides(box_, productPoint);
    transform.outStride = {g_.result.dStride, g_.result.hStride, g_.result.wStride};
    transform.outputs = &TileClass::tile;
    transform.fromW = false;
    const std::vector<PassAxis> passes = boxPasses(box_, transform, axes.row, axes.tile);
    const PassChannels channels{
        lanes_,      passVectors(passes, registers_, plan_.baseVectors),
        false,       true,
        axes.blocks, {Extent{0, std::min(width_, g_.result.channels)}, Extent{0, g_.result.channels % width_}}};
    return linearPasses(room_, "dx", passes, channels, products, dx);
  }

  // For the current point and channel block: rows are the task's tiles, in blocks of nearly equal size.
  Node multiply(int a, int filter, int c, int part, std::int64_t dataPitch) {
    std::vector<std::int64_t> sizes;  // distinct numbers of rows, by class
    std::vector<Window> windows;
    struct Block {
      std::int64_t start;
      int cls;
    };
    std::vector<Block> steps;
    for (std::int64_t i = 0; i < parts_; ++i) {
      const std::int64_t tiles = (box_.rows() * (i + 1) / parts_ - box_.rows() * i / parts_) * box_.tilesOfRow();
      const std::int64_t count = (tiles + plan_.baseRows - 1) / plan_.baseRows;
      const int begin = static_cast<int>(steps.size());
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t start = tiles * k / count, size = tiles * (k + 1) / count - start;
        auto known = std::find(sizes.begin(), sizes.end(), size);
        steps.push_back(Block{start, static_cast<int>(known - sizes.begin())});
        if (known == sizes.end()) sizes.push_back(size);
      }
      windows.push_back(Window{begin, static_cast<int>(steps.size())});
    }
    const int rows = b_.addAxis("tiles", static_cast<int>(sizes.size()));
    for (const Block& s : steps) b_.addStep(rows, {{a, s.start * dataPitch}, {c, s.start * width_ * 4}}, s.cls);
    b_.phase().axes[static_cast<std::size_t>(rows)].windowAxis = part;
    b_.phase().axes[static_cast<std::size_t>(rows)].windows = windows;
    Call call{"multiply", a, filter, c, {rows}, {}};
    SegmentList list{{Segment{0, 0, reduced_ / plan_.unroll}}, {}};
    if (list[0][0].outer == 0) list[0].clear();
    const std::int64_t done = reduced_ / plan_.unroll * plan_.unroll;
    if (done < reduced_) list[1].push_back(Segment{done * 4, done * width_ * 4, reduced_ - done});
    for (const std::int64_t size : sizes)
      call.variants.push_back(Variant{b_.addKernel(product(size, dataPitch)), b_.addList(list), false});
    return loopNode(rows, {callNode(std::move(call))});
  }

  Contract product(std::int64_t rows, std::int64_t dataPitch) const {
    Contract contract;
    contract.lanes = lanes_;
    contract.label = "product_" + std::to_string(rows) + "x" + std::to_string(plan_.baseVectors);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t v = 0; v < plan_.baseVectors; ++v)
        contract.accumulators.push_back(Accumulator{static_cast<std::int32_t>((r * width_ + v * lanes_) * 4), {}});
    }
    for (const std::int64_t steps : {plan_.unroll, std::int64_t{1}}) {
      Section section;
      section.aOuterStep = steps * 4;
      section.bOuterStep = steps * width_ * 4;
      for (std::int64_t k = 0; k < steps; ++k) {
        Step step;
        for (std::int64_t v = 0; v < plan_.baseVectors; ++v)
          step.b.push_back(VectorLoad{static_cast<std::int32_t>((k * width_ + v * lanes_) * 4), {}});
        for (std::int64_t r = 0; r < rows; ++r) {
          AOperand operand;
          operand.offset = static_cast<std::int32_t>(r * dataPitch + k * 4);
          for (std::int64_t v = 0; v < plan_.baseVectors; ++v)
            operand.uses.push_back(
                Use{static_cast<std::int16_t>(r * plan_.baseVectors + v), static_cast<std::int16_t>(v)});
          step.a.push_back(std::move(operand));
        }
        section.steps.push_back(std::move(step));
      }
      contract.sections.push_back(std::move(section));
    }
    return contract;
  }

  const TilingPlan& plan_;
  const int lanes_;
  const std::int64_t registers_;
  ProgramBuilder b_;
  PassRoom room_{b_};
  const DataGradient g_;
  const WinogradBox box_;
  std::int64_t width_ = 16, reduced_ = 1, blocks_ = 1, parts_ = 1;
  PackedWeights packing_;
  int operandBuffer_ = -1, resultBuffer_ = -1, filterBuffer_ = -1;
};

}  // namespace

Result<TileProgram> lowerWinogradData(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  return Lowering(problem, plan, machine).run();
}

}  // namespace cubejit
