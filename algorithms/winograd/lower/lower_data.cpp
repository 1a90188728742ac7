// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a data gradient by Winograd's minimal filtering: patches of dY and weights are transformed, points
// are multiplied (one matrix product a point, over reduced channels), products are transformed into tiles of dX.
// Usually weights are transformed once for all, and a task transforms the patches of its rows of tiles. With per_task it is the
// other way round: all patches first, and a task transforms the packed weights of its block of channels, cache_channels reduced channels
// at a time, which then stay in its L2.
// Strides make several filters of it, one a residue: where the big tensor is read, all of them are summed at each point, as if they were
// more channels; where it is written, each has results of its own, of the same patches.
// Leaves transforms to linear_transforms, tiles to tile_box, residues to shape.h, sizes to the plan.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/pack_weights.h"
#include "algorithms/kit/lower/point_product.h"
#include "algorithms/kit/panel_pitch.h"
#include "algorithms/winograd/lower/residue_box.h"
#include "algorithms/winograd/lower/tile_rows.h"
#include "algorithms/winograd/lower/transform_rows.h"
#include "algorithms/winograd/matrices.h"
#include "algorithms/winograd/winograd.h"

namespace cubejit {
namespace {

class WinogradDataLowering {
 public:
  WinogradDataLowering(const Problem& problem, const WinogradDataPlan& plan, const Machine& machine,
                       const ResultOps& ops)
      : plan_(plan),
        lanes_(machine.isa.lanes()),
        registers_(passRegisters(machine.isa)),
        b_(problemLabel(problem, Pass::kDx)),
        epilogue_(b_, ops, lanes_),
        g_(makeDataGradient(problem, OneAxis::kOnH)),
        s_(winogradShape(problem, plan)),
        residues_(residuesOf(s_)),
        boxes_(residueBoxes(s_, residues_)) {
    width_ = plan.registerVectors * lanes_;
    reduced_ = g_.operand.channels;
    blocks_ = (g_.result.channels + width_ - 1) / width_;
    packing_ = PackedWeights{lanes_, width_, blocks_, g_.result.channels, reduced_, false, true};
    reductionBlocks_ =
        plan.perTask ? std::max<std::int64_t>(1, (reduced_ + plan.cacheChannels - 1) / plan.cacheChannels) : 1;
    parts_ = std::max<std::int64_t>(1, (s_.rows + plan.cacheRows - 1) / plan.cacheRows);
    const std::int64_t partTiles = (s_.rows + parts_ - 1) / parts_ * s_.tilesOfRow, allTiles = s_.rows * s_.tilesOfRow;
    operandPitch_ = (reduced_ + lanes_ - 1) / lanes_ * lanes_ * 4;
    dataPitch_ = panelPitch(s_.patchedResidues() * operandPitch_);
    dataPoint_ = panelPitch((plan.perTask ? allTiles : partTiles) * dataPitch_);
    productPoint_ = panelPitch(partTiles * width_ * 4);
  }

  TileProgram run() {
    const int operandBuffer = b_.addTensor(TensorId::kDy, g_.operand.span);
    weights_ = b_.addTensor(TensorId::kW, g_.weightBytes);
    const int resultBuffer = b_.addTensor(TensorId::kDx, g_.result.bytes);
    epilogue_.begin(g_.result, g_.view.groups, resultBuffer);
    operand_.emplace(b_, "dy", g_.operand, operandBuffer, boxes_.front(), &TileAxis::patched, reduced_, lanes_);
    result_.emplace(b_, "dx", g_.result, resultBuffer, boxes_.front(), &TileAxis::tiled, width_, lanes_);
    const bool inTask = plan_.perTask;
    const std::int64_t held = inTask ? 1 : g_.view.groups * s_.tiledResidues() * blocks_;
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
  std::int64_t firstChannel(std::int64_t block) const { return reduced_ * block / reductionBlocks_; }
  // Bytes of one residue at a point of a block of the filter, [channel][width]; of all residues that are summed there.
  std::int64_t filterPitch() const { return (reduced_ + reductionBlocks_ - 1) / reductionBlocks_ * width_ * 4; }
  std::int64_t pointBytes() const { return panelPitch(s_.patchedResidues() * filterPitch()); }
  std::int64_t filterBytes() const { return s_.volume() * pointBytes(); }
  std::int64_t dataBytes() const { return s_.volume() * dataPoint_; }
  std::int64_t tilesBefore(std::int64_t part) const { return s_.rows * part / parts_ * s_.tilesOfRow; }

  // The weights of all channel blocks, read from front to back.
  void filterPhase() {
    b_.beginPhase("transform_weights");
    room_.enterPhase();
    const std::int64_t group = s_.tiledResidues() * blocks_ * filterBytes();
    const int src = b_.addStream("w", weights_), packed = b_.addStream("packed", packed_),
              dst = b_.addStream("filter", filters_);
    const int groups = b_.addUniformAxis("g", g_.view.groups, {{src, g_.wGroup}, {dst, group}});
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
    std::vector<Node> channel = packChannels(b_, g_, packing_, src, packed, blocks),
                      filter = filterOf(packed, dst, Range{0, s_.residues});
    if (together > 1) filter = nest({inner}, std::move(filter));
    for (Node& node : filter) channel.push_back(std::move(node));
    b_.phase().parallelAxes = {groups, outer};
    b_.phase().body = nest(together > 1               ? std::vector<int>{blocks}
                           : g_.wReduced > g_.wResult ? std::vector<int>{inner, blocks}
                                                      : std::vector<int>{blocks, inner},
                           std::move(channel));
    b_.phase().workCycles =
        static_cast<double>(g_.view.groups * s_.tiledResidues() * blocks_ * filterBytes()) / 64.0 * 8.0;
  }

  // A reduced channel of a block: packed [tap][width] -> filter [point][residue][reduced][width], of residues that results are summed from;
  // of others [residue][block][point][reduced][width].
  std::vector<Node> filterOf(int src, int dst, Range residues) {
    const bool several = s_.residues > 1;
    const int residue = several ? b_.addAxis("residue", static_cast<int>(residues.length())) : -1;
    for (std::int64_t q = residues.lo; several && q < residues.hi; ++q) {
      const std::int64_t number = q - residues.lo;
      b_.addStep(residue,
                 {{src, firstTap(s_, residues_[static_cast<std::size_t>(q)]) * packing_.tapPitch()},
                  {dst, number * (s_.gather ? blocks_ * filterBytes() : filterPitch())}},
                 static_cast<int>(number));
    }
    const std::vector<PassAxis> passes = boxPasses(boxes_.front(), true, [&](std::size_t axis) {
      const Matrix& taps = matrices_[axis].taps;
      PassAxis pass{.matrix = g_.gather ? reversedColumns(taps) : taps,
                    .inStride = tapStep(s_, axis) * packing_.tapPitch(),
                    .outStride = boxes_.front().pointStep(axis) * pointBytes(),
                    .classAxis = residue};
      for (std::int64_t q = residues.lo; q < residues.hi; ++q) {
        const Residue& of = residues_[static_cast<std::size_t>(q)];
        pass.inputs.push_back(Range{0, of.taps[axis]});
        pass.outputs.push_back(pointRange(s_, of, axis));
      }
      return pass;
    });
    const PassChannels channels{
        lanes_, passVectors(passes, registers_, plan_.registerVectors), false, false, -1, {Range{0, width_}}};
    std::vector<Node> nodes = linearPasses(room_, "w", passes, channels, src, dst);
    return several ? nest({residue}, std::move(nodes)) : nodes;
  }

  // The patches of all rows of tiles.
  void patchPhase() {
    b_.beginPhase("transform_dy");
    room_.enterPhase();
    operand_->enterPhase();
    const int data = b_.addStream("data", data_);
    const int groups =
        b_.addUniformAxis("g", g_.view.groups, {{operand_->tensor(), g_.operand.groupStride()}, {data, dataBytes()}});
    const TaskRows tasks = rowTasks(
        b_, s_.patchedResidues(), [&](std::size_t q) { return addPatchRows(data, q); },
        [&](std::size_t q, int rows) { return patchesOf(data, rows, q); });
    b_.phase().parallelAxes = {groups, tasks.axis};
    b_.phase().body = tasks.body;
    b_.phase().workCycles = static_cast<double>(g_.view.groups * dataBytes()) / 64.0 * 6.0;
  }

  int addPatchRows(int data, std::size_t residue) {
    std::vector<TileStream> tensors = operand_->walk(boxes_[residue]);
    // Residues that are summed lie side by side in a tile's point.
    if (residue > 0) tensors.push_back({.stream = data, .origin = static_cast<std::int64_t>(residue) * operandPitch_});
    return addRowAxis(b_, boxes_[residue], tensors, {{data, dataPitch_}});
  }

  // The patches of a row of tiles.
  std::vector<Node> patchesOf(int data, int rows, std::size_t residue) {
    const TileBox& box = boxes_[residue];
    std::vector<Node> nodes = operand_->load(box, rows);
    const RowOfTiles row{.box = box,
                         .tensor = *operand_,
                         .panel = {data, dataPitch_, dataPoint_},
                         .rows = rows,
                         .matrix = [&](std::size_t axis) { return matrices_[axis].data; },
                         .points = [&](std::size_t axis) { return patchPoints(residue, axis); }};
    const PassChannels channels{lanes_, 4, true, false, -1, {Range{0, reduced_}}};
    for (Node& node : transformRow(room_, "dy", row, channels, registers_)) nodes.push_back(std::move(node));
    return nodes;
  }
  // What there is of a residue's points; patches that several have are whole.
  Range patchPoints(std::size_t residue, std::size_t axis) const {
    return s_.gather ? Range{0, s_.points[axis]} : pointRange(s_, residues_[residue], axis);
  }
  Range resultPoints(std::size_t residue, std::size_t axis) const {
    return s_.gather ? pointRange(s_, residues_[residue], axis) : Range{0, s_.points[axis]};
  }

  void productPhase() {
    b_.beginPhase("winograd");
    room_.enterPhase();
    const bool inTask = plan_.perTask;
    const int productBuffer = b_.addBuffer("products", Buffer::Use::kPrivate, s_.volume() * productPoint_);
    Products p;
    p.a = b_.addStream("data", data_);
    p.filter = b_.addStream("filter", filters_);
    p.c = b_.addStream("products", productBuffer);
    p.products = b_.addStream("products_in", productBuffer);
    result_->enterPhase();
    p.dx = result_->tensor();
    // What the task transforms itself.
    if (!inTask) operand_->enterPhase();
    const int source = inTask ? b_.addStream("packed", packed_) : operand_->tensor();
    const int sink = b_.addStream(inTask ? "filter_out" : "data_out", inTask ? filters_ : data_);

    epilogue_.enterPhase();
    const int groups = b_.addAxis("g");
    for (std::int64_t i = 0; i < g_.view.groups; ++i) {
      b_.addStep(groups, {{p.dx, i * g_.result.groupStride()},
                          epilogue_.toChannel(i * g_.result.channels),
                          {source, i * (inTask ? blocks_ * packing_.blockBytes(g_) : g_.operand.groupStride())},
                          inTask ? std::pair{p.a, i * dataBytes()}
                                 : std::pair{p.filter, i * s_.tiledResidues() * blocks_ * filterBytes()}});
    }
    p.rows = addResultRows(p, 0);
    p.part = b_.addPartition("rows", p.rows, parts_);
    for (std::int64_t i = 0; i < parts_; ++i) {  // a task's panels start with its first row
      b_.moveStep(p.part, i, p.products, -tilesBefore(i) * width_ * 4);
      b_.moveStep(p.part, i, inTask ? p.a : sink, tilesBefore(i) * (inTask ? dataPitch_ : -dataPitch_));
    }
    p.blocks = b_.addAxis("channels", 2);
    for (std::int64_t i = 0; i < blocks_; ++i) {
      b_.addStep(p.blocks,
                 {{p.dx, g_.result.channelOffset(i * width_)},
                  epilogue_.toChannel(i * width_),
                  inTask ? std::pair{source, i * packing_.blockBytes(g_)} : std::pair{p.filter, i * filterBytes()}},
                 (i + 1) * width_ <= g_.result.channels ? 0 : 1);
    }
    const auto residues = static_cast<std::size_t>(s_.tiledResidues());
    std::vector<Node> body;
    if (inTask) {
      const int k = b_.addUniformAxis("k", reduced_, {{source, packing_.reducedPitch(g_)}, {sink, width_ * 4}});
      p.kBlock = b_.addPartition("k_block", k, reductionBlocks_);
      for (std::int64_t i = 0; i < reductionBlocks_; ++i) {  // the panel of filters starts with its first channel
        b_.moveStep(p.kBlock, i, sink, -firstChannel(i) * width_ * 4);
        b_.moveStep(p.kBlock, i, p.a, firstChannel(i) * 4);
      }
      std::vector<Node> parts;
      for (std::size_t q = 0; q < residues; ++q) {
        const auto number = static_cast<std::int64_t>(q);
        std::vector<Node> block;
        block.push_back(
            loopNode(k, filterOf(source, sink, s_.gather ? Range{number, number + 1} : Range{0, s_.residues})));
        block.push_back(productsOf(p, q));
        parts.push_back(loopNode(p.kBlock, std::move(block)));
        parts.push_back(resultsOf(p, q));
      }
      body.push_back(loopNode(p.part, std::move(parts)));
      b_.phase().parallelAxes = {groups, p.blocks};
    } else {
      for (std::size_t q = 0; q < static_cast<std::size_t>(s_.patchedResidues()); ++q) {
        const int rows = addPatchRows(sink, q);
        dealLike(b_, rows, p.rows);
        body.push_back(loopNode(rows, patchesOf(sink, rows, q)));
      }
      const int channelPart = b_.addPartition("channel_part", p.blocks, std::min(plan_.channelParts, blocks_));
      std::vector<Node> block;
      for (std::size_t q = 0; q < residues; ++q) {
        block.push_back(productsOf(p, q));
        block.push_back(resultsOf(p, q));
      }
      body.push_back(loopNode(p.blocks, std::move(block)));
      b_.phase().parallelAxes = {groups, p.part, channelPart};
    }
    b_.phase().body = std::move(body);
    b_.phase().workCycles = static_cast<double>(g_.view.groups * s_.rows * s_.tilesOfRow * s_.pointsOfResidues()) *
                            static_cast<double>(reduced_ * blocks_ * plan_.registerVectors);
  }

  // Streams and axes of the products; rows: of residue 0.
  struct Products {
    int a = -1, filter = -1, c = -1, products = -1, dx = -1;
    int rows = -1, part = -1, blocks = -1, kBlock = -1;
  };

  int addResultRows(const Products& p, std::size_t residue) {
    return addRowAxis(b_, boxes_[residue], result_->walk(boxes_[residue]), {{p.products, width_ * 4}});
  }

  // The products of the current block of channels with a filter.
  Node productsOf(const Products& p, std::size_t residue) {
    // Residues of results have filters of their own: of the task, one after the other, or one behind the other.
    const std::int64_t before = plan_.perTask ? 0 : static_cast<std::int64_t>(residue) * blocks_ * filterBytes();
    const int point =
        addPointAxis(b_, s_, {{p.filter, before}}, {{p.a, dataPoint_}, {p.filter, pointBytes()}, {p.c, productPoint_}});
    return loopNode(point, {multiply(p, residue, point)});
  }

  // The rows of tiles of a residue's results, of the current block of channels.
  Node resultsOf(const Products& p, std::size_t residue) {
    const int rows = residue == 0 ? p.rows : addResultRows(p, residue);
    if (residue > 0) dealLike(b_, rows, p.rows);
    return loopNode(rows, tilesBack(p, rows, residue));
  }

  std::vector<Node> tilesBack(const Products& p, int rows, std::size_t residue) {
    const TileBox& box = boxes_[residue];
    const RowOfTiles row{.box = box,
                         .tensor = *result_,
                         .panel = {p.products, width_ * 4, productPoint_},
                         .rows = rows,
                         .toPoints = false,
                         .matrix = [&](std::size_t axis) { return matrices_[axis].results; },
                         .points = [&](std::size_t axis) { return resultPoints(residue, axis); }};
    const PassChannels channels{lanes_,
                                plan_.registerVectors,
                                false,
                                true,
                                p.blocks,
                                {Range{0, std::min(width_, g_.result.channels)}, Range{0, g_.result.channels % width_}},
                                result_->packed() ? nullptr : &epilogue_};
    std::vector<Node> nodes = transformRow(room_, "dx", row, channels, registers_);
    for (Node& node : result_->store(box, rows, p.blocks, epilogue_)) nodes.push_back(std::move(node));
    return nodes;
  }

  // What is added at a point without those residues that do not have it, over the channels of a reduction block.
  SegmentList sumsOf(const PointProduct& product, std::int64_t channels, int dropped) const {
    SegmentList all(2);
    for (std::int64_t q = 0; q < s_.patchedResidues(); ++q) {
      if (!s_.gather && (residues_[static_cast<std::size_t>(q)].shortAxes & dropped) != 0) continue;
      const SegmentList list = productList(product, channels);
      for (std::size_t section = 0; section < list.size(); ++section) {
        for (Segment segment : list[section]) {
          segment.aOffset += q * operandPitch_;
          segment.bOffset += q * filterPitch();
          all[section].push_back(segment);
        }
      }
    }
    return all;
  }

  // For the current point and channel block, over the channels of a reduction block: rows are the part's tiles, in blocks of nearly equal
  // size.
  Node multiply(const Products& p, std::size_t residue, int point) {
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
        b_.addStep(rows, {{p.a, start * dataPitch_}, {p.c, start * width_ * 4}},
                   static_cast<int>(known - sizes.begin()));
        if (known == sizes.end()) sizes.push_back(size);
      }
      windows.push_back(Window{begin, static_cast<int>(b_.axisSteps(rows))});
    }
    Axis& axis = b_.phase().axes[static_cast<std::size_t>(rows)];
    axis.classes = static_cast<int>(sizes.size());
    axis.windowAxis = p.part;
    axis.windows = std::move(windows);
    Call call{"multiply", p.a, p.filter, p.c, {rows}, {}};
    if (p.kBlock >= 0) call.classAxes.push_back(p.kBlock);
    const int kinds = b_.phase().axes[static_cast<std::size_t>(point)].classes;
    if (kinds > 1) call.classAxes.push_back(point);
    for (const std::int64_t size : sizes) {
      const PointProduct product{size, plan_.registerVectors, lanes_, plan_.unroll, dataPitch_, 4, width_ * 4};
      const int kernel = b_.addKernel(productKernel(product));
      for (std::int64_t i = 0; i < reductionBlocks_; ++i) {
        for (int dropped = 0; dropped < kinds; ++dropped) {
          const bool none = s_.gather && (residues_[residue].shortAxes & dropped) != 0;
          const SegmentList list = sumsOf(product, firstChannel(i + 1) - firstChannel(i), dropped);
          call.variants.push_back(none ? Variant{} : Variant{kernel, b_.addList(list), i > 0});
        }
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
  const WinogradShape s_;
  const std::vector<Residue> residues_;
  const std::vector<TileBox> boxes_;  ///< by residue
  const std::array<WinogradMatrices, 3> matrices_ = winogradMatrices(s_);
  std::int64_t width_ = 16, reduced_ = 1, blocks_ = 1, parts_ = 1, reductionBlocks_ = 1;
  std::int64_t operandPitch_ = 0, dataPitch_ = 0, dataPoint_ = 0, productPoint_ = 0;
  PackedWeights packing_;
  std::optional<TileRows> operand_, result_;
  int weights_ = -1, packed_ = -1, filters_ = -1, data_ = -1;
};

}  // namespace

Result<TileProgram> lowerWinogradData(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                      const ResultOps& ops) {
  return WinogradDataLowering(problem, plan.as<WinogradDataPlan>(), machine, ops).run();
}

}  // namespace cubejit
