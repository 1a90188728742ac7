// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a weight gradient by Winograd's minimal filtering: tiles of the small tensor filter patches of the
// big one, and the taps are the results. Points are multiplied over tiles (one matrix product a point) into accumulators, whose
// sums of points become sums of taps at the end.
// Usually a task transforms some rows of tiles and patches after the other and adds their products to shared accumulators. With
// buffer_c all of them are transformed first, and a task has a part of dw to itself, whose accumulators stay in its L2.
// Strides make several filters of it, one a residue of the big tensor, which has patches, sums of points and taps of its own.
// Leaves transforms to linear_transforms, tiles to tile_box, residues to shape.h, the way into dw's order to weights_unpack.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "algorithms/kit/lower/chained_call.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/point_product.h"
#include "algorithms/kit/lower/weights_unpack.h"
#include "algorithms/kit/panel_pitch.h"
#include "algorithms/winograd/lower/residue_box.h"
#include "algorithms/winograd/lower/tile_rows.h"
#include "algorithms/winograd/lower/transform_rows.h"
#include "algorithms/winograd/matrices.h"
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
        s_(winogradShape(problem, plan)),
        v_(s_.view),
        residues_(residuesOf(s_)),
        boxes_(residueBoxes(s_, residues_)) {
    width_ = plan.registerVectors * lanes_;
    laneBlocks_ = (v_.big.channels + width_ - 1) / width_;
    rowBlocks_ = (v_.small.channels + plan.registerRows - 1) / plan.registerRows;
    rowParts_ = std::min(plan.rowParts, rowBlocks_);
    laneParts_ = std::min(plan.vectorParts, laneBlocks_);
    reductionBlocks_ = std::max<std::int64_t>(1, (s_.rows + plan.cacheRows - 1) / plan.cacheRows);
    splits_ = plan.bufferC ? 1 : std::clamp<std::int64_t>(plan.reductionParts, 1, reductionBlocks_);
    const std::int64_t blockTiles = (s_.rows + reductionBlocks_ - 1) / reductionBlocks_ * s_.tilesOfRow,
                       tiles = plan.bufferC ? s_.rows * s_.tilesOfRow : blockTiles;
    bigPitch_ = panelPitch(s_.residues * laneBlocks_ * width_ * 4);
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
                           problem.kernel,
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
    big_.emplace(b_, "big", v_.big, v_.bigIsX ? x : dy, boxes_.front(), &TileAxis::patched, v_.big.channels, lanes_);
    small_.emplace(b_, "small", v_.small, v_.bigIsX ? dy : x, boxes_.front(), &TileAxis::tiled, v_.small.channels,
                   lanes_);
    taps_.dwBuffer = b_.addTensor(TensorId::kDw, taps_.dw.bytes);
    const Buffer::Use accumulators = plan_.bufferC ? Buffer::Use::kPrivate : Buffer::Use::kShared,
                      panels = plan_.bufferC ? Buffer::Use::kShared : Buffer::Use::kPrivate;
    const std::int64_t copies = plan_.bufferC ? 1 : v_.groups, held = plan_.bufferC ? v_.groups : 1;
    sumsBuffer_ = b_.addBuffer("point_sums", accumulators, splits_ * copies * heldLanes_ * laneSums());
    taps_.scratchBuffer = b_.addBuffer("tap_sums", accumulators, copies * heldLanes_ * laneTaps());
    patches_ = b_.addBuffer("patches", panels, held * s_.volume() * bigPoint_);
    tiles_ = b_.addBuffer("tiles", panels, held * s_.volume() * smallPoint_);
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
  // Accumulators lie [lane block][residue][point][row][width], sums of taps [lane block][row][tap][width].
  std::int64_t sumPoint() const { return panelPitch(heldRows_ * width_ * 4); }
  std::int64_t residueSums() const { return s_.volume() * sumPoint(); }
  std::int64_t laneSums() const { return s_.residues * residueSums(); }
  std::int64_t tapRow() const { return taps_.taps * width_ * 4; }
  std::int64_t laneTaps() const { return heldRows_ * tapRow(); }
  std::int64_t firstRow(std::int64_t block) const { return s_.rows * block / reductionBlocks_; }

  // Panels of both tensors' transforms.
  struct Panels {
    int bigOut = -1, smallOut = -1;
  };
  Panels addPanels() {
    big_->enterPhase();
    small_->enterPhase();
    return Panels{b_.addStream("patches_out", patches_), b_.addStream("tiles_out", tiles_)};
  }

  // The axis of a residue's rows. The tiles are all residues', and transformed with the first one's patches.
  int addRows(const Panels& o, std::size_t residue) {
    const TileBox& box = boxes_[residue];
    std::vector<TileStream> tensors = big_->walk(box);
    if (residue > 0) {  // its patches lie beside those of the one before
      tensors.push_back({.stream = o.bigOut, .origin = static_cast<std::int64_t>(residue) * laneBlocks_ * width_ * 4});
      return addRowAxis(b_, box, tensors, {{o.bigOut, bigPitch_}});
    }
    for (const TileStream& stream : small_->walk(box)) tensors.push_back(stream);
    return addRowAxis(b_, box, tensors, {{o.bigOut, bigPitch_}, {o.smallOut, smallPitch_}});
  }

  // A row of a residue's patches, and of tiles; of the small tensor the channels that `ranges` gives the class of `rangeAxis`.
  std::vector<Node> transformOf(const Panels& o, std::size_t residue, int rows, int rangeAxis,
                                const std::vector<Range>& ranges) {
    const TileBox& box = boxes_[residue];
    std::vector<Node> nodes = big_->load(box, rows);
    const RowOfTiles patches{.box = box,
                             .tensor = *big_,
                             .panel = {o.bigOut, bigPitch_, bigPoint_},
                             .rows = rows,
                             .matrix = [&](std::size_t axis) { return matrices_[axis].data; },
                             .points = [&](std::size_t axis) { return pointRange(s_, residues_[residue], axis); }};
    const PassChannels ofBig{lanes_, 4, true, false, -1, {Range{0, v_.big.channels}}};
    for (Node& node : transformRow(room_, "big", patches, ofBig, registers_)) nodes.push_back(std::move(node));
    if (residue > 0) return nodes;
    for (Node& node : small_->load(box, rows)) nodes.push_back(std::move(node));
    const RowOfTiles tiles{.box = box,
                           .tensor = *small_,
                           .panel = {o.smallOut, smallPitch_, smallPoint_},
                           .rows = rows,
                           .matrix = [&](std::size_t axis) { return matrices_[axis].taps; },
                           .points = [&](std::size_t axis) { return Range{0, s_.points[axis]}; }};
    const PassChannels ofSmall{lanes_, 4, true, false, rangeAxis, ranges};
    for (Node& node : transformRow(room_, "small", tiles, ofSmall, registers_)) nodes.push_back(std::move(node));
    return nodes;
  }

  // Streams and axes of the products.
  struct Products {
    int a, lanes, c;
    int rowBlocks, laneBlocks, point, residue;
  };
  // Loops around a block of rows: residues that have the point.
  std::vector<int> loopsOf(const Products& p) const {
    if (p.residue < 0) return {p.point, p.laneBlocks, p.rowBlocks};
    return {p.point, p.laneBlocks, p.residue, p.rowBlocks};
  }

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
    p.point = addPointAxis(b_, s_, {}, {{p.a, smallPoint_}, {p.lanes, bigPoint_}, {p.c, sumPoint()}});
    p.residue = s_.residues > 1 ? b_.addAxis("residue") : -1;
    if (p.residue < 0) return p;
    std::vector<Window> windows;
    for (int dropped = 0; dropped < b_.phase().axes[static_cast<std::size_t>(p.point)].classes; ++dropped) {
      const auto begin = static_cast<int>(b_.axisSteps(p.residue));
      for (std::int64_t q = 0; q < s_.residues; ++q) {
        if ((residues_[static_cast<std::size_t>(q)].shortAxes & dropped) == 0)
          b_.addStep(p.residue, {{p.lanes, q * laneBlocks_ * width_ * 4}, {p.c, q * residueSums()}});
      }
      windows.push_back(Window{begin, static_cast<int>(b_.axisSteps(p.residue))});
    }
    Axis& added = b_.phase().axes[static_cast<std::size_t>(p.residue)];
    added.windowAxis = p.point;
    added.windows = std::move(windows);
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
    return static_cast<double>(v_.groups * s_.rows * s_.tilesOfRow * s_.pointsOfResidues()) *
           static_cast<double>(v_.small.channels * laneBlocks_ * plan_.registerVectors);
  }

  // Tasks are parts of the tiles, or of the rows.
  void reductionPhase() {
    b_.beginPhase("winograd");
    room_.enterPhase();
    const Panels o = addPanels();
    const Products p = addProducts();
    const int groups = b_.addUniformAxis("g", v_.groups,
                                         {{big_->tensor(), v_.big.groupStride()},
                                          {small_->tensor(), v_.small.groupStride()},
                                          {p.c, laneBlocks_ * laneSums()}});
    const int rows = addRows(o, 0);
    const int block = b_.addPartition("reduction_block", rows, reductionBlocks_);
    for (std::int64_t i = 0; i < reductionBlocks_; ++i) {  // panels start with the block's first row
      b_.moveStep(block, i, o.bigOut, -firstRow(i) * s_.tilesOfRow * bigPitch_);
      b_.moveStep(block, i, o.smallOut, -firstRow(i) * s_.tilesOfRow * smallPitch_);
    }
    const int split = b_.addPartition("split", block, splits_);
    for (std::int64_t i = 0; i < splits_; ++i) b_.moveStep(split, i, p.c, i * v_.groups * laneBlocks_ * laneSums());
    const int rowPart = b_.addPartition("row_part", p.rowBlocks, rowParts_);
    std::vector<Range> ranges;
    for (const Window& w : b_.phase().axes[static_cast<std::size_t>(p.rowBlocks)].windows)
      ranges.push_back(Range{w.begin * plan_.registerRows, std::min(w.end * plan_.registerRows, v_.small.channels)});
    std::vector<Node> body;
    for (std::size_t q = 0; q < boxes_.size(); ++q) {
      const int ofResidue = q == 0 ? rows : addRows(o, q);
      if (q > 0) dealLike(b_, ofResidue, rows);
      body.push_back(loopNode(ofResidue, transformOf(o, q, ofResidue, rowPart, ranges)));
    }
    Call call{"multiply", p.a, p.lanes, p.c, {block, p.rowBlocks}, {}};
    for (std::int64_t i = 0; i < reductionBlocks_; ++i)
      addVariants(call, (firstRow(i + 1) - firstRow(i)) * s_.tilesOfRow, isFirst(i));
    for (Node& node : nest(loopsOf(p), {chainedCall(b_, std::move(call))})) body.push_back(std::move(node));
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
    const Panels o = addPanels();
    const int groups = b_.addUniformAxis("g", v_.groups,
                                         {{big_->tensor(), v_.big.groupStride()},
                                          {small_->tensor(), v_.small.groupStride()},
                                          {o.bigOut, s_.volume() * bigPoint_},
                                          {o.smallOut, s_.volume() * smallPoint_}});
    const TaskRows tasks = rowTasks(
        b_, s_.residues, [&](std::size_t q) { return addRows(o, q); },
        [&](std::size_t q, int rows) { return transformOf(o, q, rows, -1, {Range{0, v_.small.channels}}); });
    b_.phase().parallelAxes = {groups, tasks.axis};
    b_.phase().body = tasks.body;
    b_.phase().workCycles = static_cast<double>(v_.groups * s_.volume() * (bigPoint_ + smallPoint_)) / 64.0 * 6.0;
  }

  // Tasks are parts of dw: products over all tiles, sums of taps, dw.
  void partPhase() {
    b_.beginPhase("winograd");
    room_.enterPhase();
    const Products p = addProducts();
    const int points = b_.addStream("points", sumsBuffer_), taps = b_.addStream("taps", taps_.scratchBuffer),
              sums = b_.addStream("tap_sums", taps_.scratchBuffer), dw = b_.addStream("dw", taps_.dwBuffer);
    const int groups = b_.addUniformAxis(
        "g", v_.groups, {{p.a, s_.volume() * smallPoint_}, {p.lanes, s_.volume() * bigPoint_}, {dw, taps_.dw.group}});
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
    addVariants(call, s_.rows * s_.tilesOfRow, true);
    std::vector<Node> body = nest(loopsOf(p), {chainedCall(b_, std::move(call))});
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
    const bool several = s_.residues > 1;
    const int residue = several ? b_.addAxis("residue_taps", static_cast<int>(s_.residues)) : -1;
    for (std::int64_t q = 0; several && q < s_.residues; ++q) {
      b_.addStep(
          residue,
          {{points, q * residueSums()}, {taps, firstTap(s_, residues_[static_cast<std::size_t>(q)]) * width_ * 4}},
          static_cast<int>(q));
    }
    const std::vector<PassAxis> passes = boxPasses(boxes_.front(), true, [&](std::size_t axis) {
      PassAxis pass{.matrix = matrices_[axis].results,
                    .inStride = boxes_.front().pointStep(axis) * sumPoint(),
                    .outStride = tapStep(s_, axis) * width_ * 4,
                    .classAxis = residue};
      for (const Residue& of : residues_) {
        pass.inputs.push_back(pointRange(s_, of, axis));
        pass.outputs.push_back(Range{0, of.taps[axis]});
      }
      return pass;
    });
    const PassChannels channels{
        lanes_, passVectors(passes, registers_, plan_.registerVectors), false, false, -1, {Range{0, width_}}};
    std::vector<Node> nodes = linearPasses(room_, "taps", passes, channels, points, taps);
    return several ? nest({residue}, std::move(nodes)) : nodes;
  }

  const WinogradWeightsPlan& plan_;
  const int lanes_;
  const std::int64_t registers_;
  ProgramBuilder b_;
  PassRoom room_{b_};
  const WinogradShape s_;
  const ConvView& v_;
  const std::vector<Residue> residues_;
  const std::vector<TileBox> boxes_;  ///< by residue
  const std::array<WinogradMatrices, 3> matrices_ = winogradMatrices(s_);
  std::int64_t width_ = 16, laneBlocks_ = 1, rowBlocks_ = 1, laneParts_ = 1, rowParts_ = 1, reductionBlocks_ = 1,
               splits_ = 1;
  std::int64_t bigPitch_ = 0, smallPitch_ = 0, bigPoint_ = 0, smallPoint_ = 0, heldRows_ = 1, heldLanes_ = 1;
  WeightsScratch taps_;
  std::optional<TileRows> big_, small_;
  int sumsBuffer_ = -1, patches_ = -1, tiles_ = -1;
};

}  // namespace

Result<TileProgram> lowerWinogradWeights(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                         const ResultOps& /*none*/) {
  return WinogradWeightsLowering(problem, plan.as<WinogradWeightsPlan>(), machine).run();
}

}  // namespace cubejit
