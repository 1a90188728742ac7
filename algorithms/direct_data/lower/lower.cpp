// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a data gradient whose lanes are result channels: a box of result pixels times a few vectors of
// channels stays in registers while the reduction runs over taps and operand channels.
//   dx[n][i][c] = sum over taps k, channels o:  dy[n][(i + pad - k*dil)/stride][o] * w[o][c][k]
// Leaves which taps reach which pixels to blocked_axis, and the choice of box, panels and order to the plan.
#include <algorithm>
#include <array>
#include <utility>

#include "algorithms/direct_data/direct_data.h"
#include "algorithms/direct_data/lower/data_panels.h"
#include "algorithms/direct_data/lower/data_sections.h"
#include "algorithms/direct_data/lower/reduction_steps.h"
#include "algorithms/direct_data/lower/tap_group.h"
#include "algorithms/direct_data/lower/tile_block.h"
#include "algorithms/direct_data/result_prefetch.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/epilogue.h"
#include "algorithms/kit/lower/operand.h"
#include "algorithms/kit/lower/pack_weights.h"
#include "algorithms/kit/lower/tile_blocks.h"
#include "algorithms/kit/panel_pitch.h"
#include "algorithms/kit/work.h"

namespace cubejit {
namespace {

// Multiply-adds an iteration that hide the loop: six cycles at two a cycle, enough to issue its four scalar instructions too.
constexpr std::int64_t kHidesLoop = 12;

// Taps of a segment that hide its loop by far. Edges reach any number of them, and kernels hold a section for each number that is left over.
constexpr std::int64_t kMostTapsTogether = 64;

class DirectDataLowering {
 public:
  DirectDataLowering(const Problem& problem, const DirectDataPlan& plan, const Machine& machine, const ResultOps& ops)
      : problem_(problem),
        plan_(plan),
        lanes_(machine.isa.lanes()),
        b_(problemLabel(problem, Pass::kDx)),
        epilogue_(b_, ops, lanes_),
        g_(makeDataGradient(problem, axisOf(plan))) {
    block_ = {plan.registerD, plan.registerH, plan.registerW};
    if (g_.view.oneAxisOnH) block_ = {1, plan.registerW, 1};
    const std::array<std::int64_t, 3> cache{plan.cache.d, plan.cache.h, 0};  // W is never cut
    std::array<AxisRelation, 3> relation = g_.relation;
    if (plan.matrixUnit) tiles_ = layOutTiles(plan, g_, relation);
    for (std::size_t axis = 0; axis < 3; ++axis)
      axes_[axis] = makeBlockedAxis(relation[axis], block_[axis], cache[axis]);
    if (tiles_.rows.all() > 0) tellZerosApart(axes_[1], tiles_.rows, g_.operand.extent.h);
    inputVectors_ = plan.vectorize == DataVectors::kInputChannels;
    broadcastTaps_ = inputVectors_ ? 1 : plan.broadcastTaps;
    vectors_ = inputVectors_ ? g_.result.channels : plan.registerVectors;
    width_ = inputVectors_ ? g_.result.channels : vectors_ * lanes_;
    nBlocks_ = (g_.result.channels + width_ - 1) / width_;
    const std::int64_t words = plan.matrixUnit ? tiles_.pairs : g_.operand.words(plan.dotProducts);
    packing_ = PackedWeights{lanes_, width_, nBlocks_, g_.result.channels, words, plan.dotProducts};
    packing_.lastAlone = plan.dotProducts && g_.operand.channels % 2 != 0;
    packing_.tapsAlongW = tiles_.taps;
    packing_.zeroPairs = tiles_.sum.zeros;
    reduced_ = packing_.all();
    steps_ = reductionSteps();
    resultElement_ = plan.bufferC ? Element::kF32 : elementOf(g_.result.dtype);
  }

  TileProgram run() {
    dy_ = Operand(g_.operand, b_.addTensor(TensorId::kDy, g_.operand.span));
    weightBuffer_ = b_.addTensor(TensorId::kW, g_.weightBytes);
    dx_ = Operand(g_.result, b_.addTensor(TensorId::kDx, g_.result.bytes));
    epilogue_.begin(g_.result, g_.view.groups, dx_.buffer);
    if (g_.hasGaps && !plan_.bufferC) epilogue_.fill(problem_);
    if (inputVectors_) {
      packedBuffer_ = b_.addBuffer("packed_w", Buffer::Use::kShared, g_.view.groups * packedInputBytes(g_, packing_));
      addPackInputPhase(b_, g_, packing_, weightBuffer_, packedBuffer_);
    } else if (plan_.packsWeights()) {
      const std::int64_t blocks = plan_.packsPerTask() ? 1 : g_.view.groups * nBlocks_;
      packedBuffer_ = b_.addBuffer(plan_.packsPerTask() ? "panel_w" : "packed_w",
                                   plan_.packsPerTask() ? Buffer::Use::kPrivate : Buffer::Use::kShared,
                                   blocks * packing_.blockBytes(g_));
      if (!plan_.packsPerTask()) addPackPhase(b_, g_, packing_, weightBuffer_, packedBuffer_);
    }
    multiplyPhase();
    epilogue_.end();
    return b_.finish();
  }

 private:
  void multiplyPhase() {
    b_.beginPhase("multiply");
    makePanels();
    dy_.addStream(b_, "a");
    const int w = b_.addStream("b", plan_.packsWeights() ? packedBuffer_ : weightBuffer_);
    dx_.addStream(b_, "c");
    dy_.addTensorStream(b_, "dy");
    dy_.addPanelStream(b_, "panel");
    if (hasTilePanel()) placeStreams(b_, tilePanelOf({}));
    dx_.addTensorStream(b_, "dx");
    dx_.addPanelStream(b_);
    const int weights = plan_.packsPerTask() ? b_.addStream("w", weightBuffer_) : w;
    epilogue_.enterPhase();

    // Parallel axes: groups, images, cache blocks of depth and rows; and channel blocks where they are outside.
    const std::int64_t weightsPerGroup = inputVectors_ ? packedInputBytes(g_, packing_)
                                         : plan_.packsWeights() && !plan_.packsPerTask()
                                             ? nBlocks_ * packing_.blockBytes(g_)
                                             : g_.wGroup;
    const int groups = b_.addUniformAxis("g", g_.view.groups,
                                         {{weights, weightsPerGroup},
                                          {dy_.tensor, g_.operand.groupStride()},
                                          {dx_.tensor, g_.result.groupStride()},
                                          epilogue_.toChannel(g_.result.channels)});
    const int images = imageAxis();
    std::array<int, 2> cacheAxis{};
    std::array<int, 3> registerAxis{};
    for (std::size_t axis = 0; axis < 2; ++axis) cacheAxis[axis] = addCacheAxis(axis);
    for (std::size_t axis = 0; axis < 3; ++axis) registerAxis[axis] = addRegisterAxis(axis);
    const int blocks = b_.addAxis("channels", 2);
    for (std::int64_t i = 0; i < nBlocks_; ++i) {
      AxisDeltas d;
      if (plan_.packsPerTask())
        d.emplace_back(weights, i * width_ * g_.wResult);
      else
        d.emplace_back(w, i * (plan_.packsWeights() ? packing_.blockBytes(g_) : width_ * 4));
      if (plan_.packsPerTask() && plan_.bufferC)
        d.emplace_back(dx_.tensor, g_.result.channelOffset(i * width_));
      else
        d.emplace_back(dx_.stream, dx_.pitch.c.to(i * width_));
      if (!plan_.bufferC || plan_.packsPerTask()) d.push_back(epilogue_.toChannel(i * width_));
      b_.addStep(blocks, d, packing_.widthOf(i) < width_ ? 1 : 0);
    }

    Call call{"multiply",
              dy_.stream,
              w,
              dx_.stream,
              {images, cacheAxis[0], cacheAxis[1], registerAxis[0], registerAxis[1], registerAxis[2], blocks},
              {}};
    fillVariants(call);
    if (!plan_.bufferC) epilogue_.finish(call);
    std::vector<Node> calls{callNode(std::move(call))};

    const bool paneled = plan_.packA || plan_.bufferC;
    Phase& phase = b_.phase();
    // The innermost axis is the one with many equal blocks, so that the kernel itself can loop over them.
    const int innermost = g_.view.oneAxisOnH ? registerAxis[1] : registerAxis[2],
              middle = g_.view.oneAxisOnH ? registerAxis[2] : registerAxis[1];
    const bool blocksOutside = plan_.packsPerTask() || (plan_.order == IterateOrder::kChannelsOuter && !paneled);
    std::vector<int> loops{registerAxis[0], middle, innermost};
    if (!blocksOutside)
      loops.insert(plan_.order == IterateOrder::kChannelsOuter ? loops.begin() : loops.end() - 1, blocks);
    std::vector<Node> blockBody;
    if (plan_.bufferC && g_.hasGaps) {
      const Fill zero{.lanes = lanes_, .rows = 1, .cols = panelCBytes_ / 4, .label = "zero_panel"};
      blockBody.push_back(
          callNode(Call{"zero", dx_.stream, -1, dx_.stream, {}, {Variant{b_.addKernel(zero), -1, false}}}));
    }
    if (hasTilePanel())
      for (Node& node : loadTiles(b_, tilePanelOf(cacheAxis))) blockBody.push_back(std::move(node));
    else if (plan_.packA)
      blockBody.push_back(packNode(b_, panels(cacheAxis)));
    for (Node& node : nest(loops, std::move(calls))) blockBody.push_back(std::move(node));
    if (inputVectors_)
      blockBody.push_back(sumNode(b_, panels(cacheAxis), epilogue_));
    else if (plan_.bufferC)
      blockBody.push_back(unpackNode(b_, panels(cacheAxis), epilogue_, plan_.packsPerTask() ? blocks : -1));
    if (plan_.packsPerTask()) {
      const int share = b_.addPartition("image_part", images, std::min(plan_.batchParts, b_.axisSteps(images)));
      phase.parallelAxes = {groups, blocks, share};
      phase.body = packBlock(b_, g_, packing_, weights, w, blocks);
      for (Node& node : nest({images, cacheAxis[0], cacheAxis[1]}, std::move(blockBody)))
        phase.body.push_back(std::move(node));
    } else {
      phase.parallelAxes = {groups, images, cacheAxis[0], cacheAxis[1]};
      if (blocksOutside) phase.parallelAxes.insert(phase.parallelAxes.begin() + 1, blocks);
      phase.body = std::move(blockBody);
    }
    phase.workCycles = multiplyAddVectors(g_.view, lanes_) + 50.0 * static_cast<double>(b_.tasks());
  }

  void makePanels() {
    if (plan_.packA) {
      Pitches p;
      p.c.each = plan_.dotProducts ? 2 : 4;
      p.w = inputVectors_ || reduced_ * 4 >= 64 ? panelPitch(reduced_ * 4) : reduced_ * 4;  // scalars need no lines
      if (tiles_.taps > 1) p.w = g_.operand.channels * 2;
      p.h = p.w * (g_.operand.extent.w + tiles_.columns.all());  // whole rows of W
      p.d = p.h * axes_[1].panelOperands;
      dy_.pack(b_, "panel_dy", p, p.d * axes_[0].panelOperands + tiles_.columns.all() * p.w);
    }
    if (plan_.bufferC) {
      Pitches p;
      p.c.each = 4;
      p.w = inputVectors_ ? vectors_ * lanes_ * 4 : panelPitch((plan_.packsPerTask() ? 1 : nBlocks_) * width_ * 4);
      p.h = p.w * (tiles_.severalRows ? dy_.pitch.h / dy_.pitch.w : g_.result.extent.w);
      p.d = p.h * axes_[1].panelResults;
      panelCBytes_ = p.d * axes_[0].panelResults;
      dx_.pack(b_, "panel_dx", p, panelCBytes_);
    }
  }

  bool hasTilePanel() const { return plan_.matrixUnit && plan_.packA; }
  TilePanel tilePanelOf(const std::array<int, 2>& cacheAxis) const { return {dy_, axes_, tiles_, cacheAxis, lanes_}; }

  DataPanels panels(const std::array<int, 2>& cacheAxis) const {
    return DataPanels{dy_,      dx_,    axes_,
                      lanes_,   width_, plan_.dotProducts ? PanelElements::kChannelPairs : PanelElements::kWide,
                      cacheAxis};
  }

  int imageAxis() {
    const std::int64_t step = plan_.packA || plan_.bufferC ? 1 : plan_.registerN;
    const int axis = b_.addAxis("n", 2);
    for (const Range& images : cutInto(g_.view.batch, step)) {
      b_.addStep(axis, {{dy_.tensor, images.lo * g_.operand.nStride}, {dx_.tensor, images.lo * g_.result.nStride}},
                 images.length() == step ? 0 : 1);
    }
    imageLength_ = {step, g_.view.batch % step};
    return axis;
  }

  int addCacheAxis(std::size_t which) {
    const BlockedAxis& of = axes_[which];
    const int axis = b_.addAxis(which == 0 ? "cache_d" : "cache_h", of.cacheClasses);
    for (const AxisCacheBlock& block : of.cacheBlocks) {
      AxisDeltas d;
      dy_.toBlock(d, which, block.operandStart);
      dx_.toBlock(d, which, block.resultStart());
      b_.addStep(axis, d, block.cls);
    }
    return axis;
  }

  int addRegisterAxis(std::size_t which) {
    static constexpr const char* kNames[] = {"d", "h", "w"};
    const BlockedAxis& of = axes_[which];
    const int axis = b_.addAxis(kNames[which], of.registerClasses);
    for (const AxisRegisterBlock& block : of.registerBlocks) {
      b_.addStep(axis,
                 {{dy_.stream, block.operandOffset * dy_.pitch.of(which)},
                  {dx_.stream, block.resultOffset * dx_.pitch.of(which)}},
                 block.cls);
    }
    return axis;
  }

  void fillVariants(Call& call) {
    std::vector<Position> positions;
    for (int image = 0; image < 2; ++image) {
      forEachClass(axes_, [&](const std::array<const BlockClass*, 3>& blocks) {
        positions.push_back(Position{image, blocks[0], blocks[1], blocks[2]});
      });
    }
    // The sections each kernel shape needs must be known before the first list refers to them.
    for (const Position& p : positions) noteSections(p);
    for (const Position& p : positions) {
      for (int tail = 0; tail < 2; ++tail) call.variants.push_back(wanted(p, tail) ? makeVariant(p, tail) : Variant{});
    }
  }

  // Where on the axes a call stands: the blocks of d, h, w (null: no such block) and whether the images are the tail.
  struct Position {
    int image = 0;
    const BlockClass *d = nullptr, *h = nullptr, *w = nullptr;
  };

  bool exists(const Position& p) const {
    return p.d != nullptr && p.h != nullptr && p.w != nullptr && imageLength_[static_cast<std::size_t>(p.image)] > 0;
  }
  bool wanted(const Position& p, int tail) const {
    return exists(p) && (tail == 1 ? g_.result.channels % width_ != 0 : g_.result.channels >= width_);
  }
  Lens lensOf(const Position& p) const {
    return Lens{imageLength_[static_cast<std::size_t>(p.image)], p.d->length, p.h->length, p.w->length};
  }

  std::vector<Subset>& subsetsOf(const Lens& lens) {
    for (auto& [known, subsets] : subsets_) {
      if (known == lens) return subsets;
    }
    subsets_.emplace_back(lens, std::vector<Subset>{});
    return subsets_.back().second;
  }

  // The segments of a block: one a tap. Where a tap is only a few vectors of input channels, the taps along W that reach the
  // same rows share a segment; so do those that share scalars, whatever rows they reach.
  std::vector<TapGroup> groupsOf(const Position& p) const {
    const std::int64_t tapBytes = inputVectors_ ? lanes_ * 4 : plan_.packsWeights() ? reduced_ * width_ * 4 : 4;
    const bool together = inputVectors_ && reduced_ <= kUnroll();
    const bool alongH = g_.view.oneAxisOnH;
    const std::vector<BlockTap>&across = alongH ? p.w->taps : p.h->taps, &along = alongH ? p.h->taps : p.w->taps;
    const auto count = static_cast<std::int64_t>(along.size());
    const std::int64_t pieces = (count + broadcastTaps_ - 1) / broadcastTaps_,
                       each = pieces > 0 ? (count + pieces - 1) / pieces : 1;
    std::vector<TapGroup> groups;
    for (const BlockTap& td : p.d->taps) {
      for (const BlockTap& ta : across) {
        for (std::size_t i = 0; i < along.size(); ++i) {
          const BlockTap &th = alongH ? along[i] : ta, &tw = alongH ? ta : along[i];
          const std::int64_t a = td.offset * dy_.pitch.d + th.offset * dy_.pitch.h + tw.offset * dy_.pitch.w,
                             b = tapIndex(g_, td.k, th.k, tw.k) * tapBytes;
          TapGroup* last = i == 0 || groups.empty() ? nullptr : &groups.back();
          const bool joins = last != nullptr &&
                             (together ? last->rows.taps[0].lo == along[i].lo && last->rows.taps[0].hi == along[i].hi &&
                                             std::ssize(last->rows.taps) < kMostTapsTogether
                                       : static_cast<std::int64_t>(i) % each != 0);
          if (!joins) {
            groups.push_back(
                TapGroup{Subset{td.lo, td.hi, th.lo, th.hi, tw.lo, tw.hi, {}, prefetches(i, ta, across)}, a, b});
            last = &groups.back();
          }
          last->rows.taps.push_back({a - last->aOffset, b - last->bOffset, along[i].lo, along[i].hi});
          std::int64_t &lo = alongH ? last->rows.hLo : last->rows.wLo, &hi = alongH ? last->rows.hHi : last->rows.wHi;
          lo = std::min(lo, along[i].lo);
          hi = std::max(hi, along[i].hi);
        }
      }
    }
    return groups;
  }

  // Whether a segment prefetches. Scalars: a line of dY is new to the row of taps that reaches furthest.
  bool prefetches(std::size_t along, const BlockTap& across, const std::vector<BlockTap>& all) const {
    if (inputVectors_) return plan_.prefetch != Prefetch::kNone;
    const auto furthest = [](const BlockTap& x, const BlockTap& y) { return x.offset < y.offset; };
    return plan_.prefetch == Prefetch::kOperands && along == 0 &&
           across.offset == std::max_element(all.begin(), all.end(), furthest)->offset;
  }

  void noteSections(const Position& p) {
    if (!exists(p)) return;
    std::vector<Subset>& subsets = subsetsOf(lensOf(p));
    for (const TapGroup& g : groupsOf(p)) {
      if (std::find(subsets.begin(), subsets.end(), g.rows) == subsets.end()) subsets.push_back(g.rows);
    }
  }

  Variant makeVariant(const Position& p, int tail) {
    Variant v;
    const Lens lens = lensOf(p);
    const std::vector<Subset>& subsets = subsetsOf(lens);
    const std::int64_t width = tail == 1 ? g_.result.channels % width_ : width_;
    if (plan_.matrixUnit) {
      SegmentList products(1);
      for (const TapGroup& g : groupsOf(p)) products.front().push_back({g.aOffset, g.bOffset, tiles_.sum.count});
      const std::int64_t pixels = lens.w + (lens.h - 1) * (dy_.pitch.h / dy_.pitch.w), columns = roundUp(width, lanes_);
      v.kernel =
          b_.addKernel(productOf({pixels, columns, tiles_.sum.each, g_.operand.dtype,
                                  axes_[2].operandStep * dy_.pitch.w, width_ * 4, axes_[2].resultStep * dx_.pitch.w,
                                  "dx_tiles_" + std::to_string(pixels) + "x" + std::to_string(columns / lanes_)}));
      v.list = b_.addList(std::move(products));
      return v;
    }
    const Twins kernels = kernelFor(lens, subsets, width);
    v.kernel = kernels.plain;
    v.aligned = kernels.streaming;
    const bool remainder = reduced_ % kUnroll() != 0;
    SegmentList list(subsets.size() * (remainder ? 2 : 1));
    const std::int64_t main = reduced_ / kUnroll(), left = reduced_ % kUnroll();
    for (const TapGroup& g : groupsOf(p)) {
      const auto section =
          static_cast<std::size_t>(std::find(subsets.begin(), subsets.end(), g.rows) - subsets.begin());
      if (main > 0)
        steps_.addSegments(list[section], g.aOffset, g.bOffset, main * plan_.unroll,
                           stepsAtOnce(lens, g.rows, plan_.unroll));
      if (remainder) {
        const std::int64_t done = main * plan_.unroll;  // steps
        list[subsets.size() + section].push_back(
            Segment{g.aOffset + steps_.aTo(done), g.bOffset + done * steps_.b,
                    remainderSteps(left) / stepsAtOnce(lens, g.rows, remainderSteps(left))});
      }
    }
    v.list = b_.addList(std::move(list));
    return v;
  }

  // From one vector of B to the next: lanes side by side, or result channels.
  std::int64_t bVector() const { return inputVectors_ ? g_.taps * lanes_ * 4 : lanes_ * 4; }
  // One reduction step: a reduction channel, a pair, or a vector of them.
  ReductionSteps reductionSteps() const {
    if (inputVectors_) return {lanes_ * 4, vectors_ * g_.taps * lanes_ * 4};
    const bool inBlocks = !plan_.packA && g_.operand.c0 > 0;
    return {plan_.packA || plan_.dotProducts ? 4 : g_.operand.cStride, plan_.packsWeights() ? width_ * 4 : g_.wReduced,
            !inBlocks           ? 0
            : plan_.dotProducts ? g_.operand.c0 / 2
                                : g_.operand.c0,
            g_.operand.blockStride};
  }
  // Reduced channels of one iteration of the main section; what is left is the remainder section.
  std::int64_t kUnroll() const { return plan_.unroll * (inputVectors_ ? lanes_ : 1); }
  std::int64_t remainderSteps(std::int64_t left) const { return inputVectors_ ? (left + lanes_ - 1) / lanes_ : left; }

  // How many of so many steps are one iteration of a section. Edges of an image have sections of their own, dozens of them
  // where kernels are long; each is unrolled only as far as it takes to hide the loop. Sums keep their order.
  std::int64_t stepsAtOnce(const Lens& lens, const Subset& rows, std::int64_t steps) const {
    const std::int64_t all = lens.n * lens.d * lens.h * lens.w,
                       reached = lens.n * (rows.dHi - rows.dLo) * (rows.hHi - rows.hLo) * (rows.wHi - rows.wLo);
    if (reached == all || inputVectors_) return steps;
    std::int64_t atOnce = 1;
    while (steps % atOnce != 0 || (atOnce < steps && atOnce * reached * vectors_ < kHidesLoop)) ++atOnce;
    return atOnce;
  }

  // A kernel, and the one that does the same past the caches; -1 = none.
  struct Twins {
    int plain = -1, streaming = -1;
  };

  Twins kernelFor(const Lens& lens, const std::vector<Subset>& subsets, std::int64_t width) {
    for (const auto& [key, kernels] : kernels_) {
      if (key.first == lens && key.second == width) return kernels;
    }
    const std::int64_t vectors = inputVectors_ ? vectors_ : (width + lanes_ - 1) / lanes_;
    Contract contract;
    contract.lanes = lanes_;
    contract.products = plan_.dotProducts ? Products::kPairs : Products::kF32;
    contract.result = resultElement_;
    contract.label = std::string("dx_") + std::to_string(lens.n * lens.d * lens.h * lens.w) + "x" +
                     std::to_string(vectors) + (width % lanes_ ? "m" + std::to_string(width % lanes_) : "");
    const auto tailLanes = [&](std::int64_t v) { return lanesUpTo(width - v * lanes_, lanes_); };
    for (std::int64_t n = 0; n < lens.n; ++n) {
      for (std::int64_t d = 0; d < lens.d; ++d) {
        for (std::int64_t h = 0; h < lens.h; ++h) {
          for (std::int64_t w = 0; w < lens.w; ++w) {
            const std::int64_t base = n * dx_.pitch.n + d * axes_[0].resultStep * dx_.pitch.d +
                                      h * axes_[1].resultStep * dx_.pitch.h + w * axes_[2].resultStep * dx_.pitch.w;
            for (std::int64_t v = 0; v < vectors; ++v) {
              contract.accumulators.push_back(Accumulator{static_cast<std::int32_t>(base + dx_.pitch.c.to(v * lanes_)),
                                                          plan_.bufferC ? LaneRange{} : tailLanes(v)});
            }
          }
        }
      }
    }
    DataTile tile{lens, vectors, lanes_, dy_.pitch};
    for (std::size_t axis = 0; axis < 3; ++axis) tile.operandStep[axis] = axes_[axis].operandStep;
    tile.aChannel = steps_.a;
    tile.bChannel = steps_.b;
    tile.bVector = bVector();
    tile.lastVector = plan_.packsWeights() ? 0 : width % lanes_;
    tile.inputVectors = inputVectors_;
    tile.reusesBroadcasts = broadcastTaps_ > 1;
    tile.tapsAlongH = g_.view.oneAxisOnH;
    // Vectors of input channels of a line ask for the pixels behind the block's first; a block further on is too far (1D, 10 taps: half as fast).
    const std::int64_t block = g_.view.oneAxisOnH && !inputVectors_ ? lens.h * axes_[1].operandStep * dy_.pitch.h
                                                                    : lens.w * axes_[2].operandStep * dy_.pitch.w;
    tile.prefetchAhead = plan_.prefetchDistance * block;
    for (const Subset& s : subsets) {
      contract.sections.push_back(dataSection(tile, s, stepsAtOnce(lens, s, plan_.unroll), kUnroll()));
      steps_.stepFrom(contract.sections.back());
    }
    if (const std::int64_t left = reduced_ % kUnroll(); left != 0) {
      for (const Subset& s : subsets)
        contract.sections.push_back(dataSection(tile, s, stepsAtOnce(lens, s, remainderSteps(left)), left));
    }
    if (!plan_.bufferC)
      epilogue_.finish(contract, [&](std::size_t i) { return static_cast<std::int64_t>(i) % vectors * lanes_; });
    contract.prefetchResults = !plan_.bufferC && prefetchesDxResults(plan_.prefetch, reduced_ * g_.taps);
    Twins twins{b_.addKernel(contract), -1};
    if (plan_.streamingStore && width % lanes_ == 0) {
      contract.streamingStore = true;
      contract.prefetchResults = false;  // lines that are not to be in a cache
      contract.label.text += "_nt";
      twins.streaming = b_.addKernel(std::move(contract));
    }
    kernels_.emplace_back(std::make_pair(lens, width), twins);
    return twins;
  }

  const Problem& problem_;
  const DirectDataPlan& plan_;
  const int lanes_;
  bool inputVectors_ = false;  ///< lanes are channels of dy, and are summed up; vectors_ counts result channels
  ProgramBuilder b_;
  Epilogue epilogue_;
  DataGradient g_;
  std::array<std::int64_t, 3> block_{};
  std::array<BlockedAxis, 3> axes_;
  TileLayout tiles_;
  std::int64_t broadcastTaps_ = 1;  ///< along W that share scalars
  ReductionSteps steps_;
  std::int64_t vectors_ = 1, width_ = 16, nBlocks_ = 1, reduced_ = 1;
  std::array<std::int64_t, 2> imageLength_{};
  Operand dy_, dx_;
  std::int64_t panelCBytes_ = 0;
  PackedWeights packing_;
  Element resultElement_ = Element::kF32;  ///< of what microkernels write
  int weightBuffer_ = -1, packedBuffer_ = -1;
  std::vector<std::pair<Lens, std::vector<Subset>>> subsets_;
  std::vector<std::pair<std::pair<Lens, std::int64_t>, Twins>> kernels_;
};

}  // namespace

Result<TileProgram> lowerDirectData(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                    const ResultOps& ops) {
  return DirectDataLowering(problem, plan.as<DirectDataPlan>(), machine, ops).run();
}

}  // namespace cubejit
