// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the candidate plans of a data gradient with channel lanes: register boxes, cache blocks, order.
#include "algorithms/direct_data/direct_data.h"

#include <algorithm>
#include <array>

#include "algorithms/direct_data/rates.h"
#include "algorithms/direct_data/tiles.h"
#include "algorithms/kit/conv_view.h"
#include "algorithms/kit/dot_products.h"
#include "algorithms/kit/residue_classes.h"

namespace cubejit {
namespace {

struct DataView {
  ConvView view;
  TensorView result, operand;
  std::array<std::int64_t, 3> phaseLength{1, 1, 1};  ///< longest residue class of the result on d, h, w
};

DataView viewOf(const Problem& p, OneAxis axis = OneAxis::kOnW) {
  DataView g;
  g.view = makeConvView(p, Pass::kDx, axis);
  const bool gather = g.view.bigIsX;
  g.result = gather ? g.view.big : g.view.small;
  g.operand = gather ? g.view.small : g.view.big;
  for (int a = 0; a < 3; ++a) {
    const std::int64_t stride = gather ? g.view.stride[a] : 1;
    g.phaseLength[static_cast<std::size_t>(a)] = std::max<std::int64_t>(1, divUp(g.result.extent[a], stride));
  }
  return g;
}

// Reduction steps per loop iteration: a divisor of the channels if there is a good one.
std::int64_t chooseUnroll(std::int64_t channels, std::int64_t accumulators) {
  const std::int64_t most = accumulators > 16 ? 8 : 12;
  if (channels <= most) return std::max<std::int64_t>(1, channels);
  for (std::int64_t u = most; u >= 4; --u) {
    if (channels % u == 0) return u;
  }
  return 4;
}

// Steps of a block that are one iteration: weights are one stream then. Of larger blocks a part.
constexpr std::int64_t kWholeBlock = 16;

// Reduction steps of a block of dy's channels; 0: there are none.
std::int64_t stepsOfBlock(const TensorView& operand, bool dots) { return dots ? operand.c0 / 2 : operand.c0; }

// Boxes of at most `rows` pixels, W first: what does not fit is cut equally, what fits leaves room for H, D, images.
void addBoxes(const DataView& g, DirectDataPlan plan, std::int64_t rows, std::vector<DirectDataPlan>& out) {
  const auto [pd, ph, pw] = g.phaseLength;
  for (std::int64_t pieces = divUp(pw, rows); pieces <= divUp(pw, rows) + 1; ++pieces) {
    plan.registerW = divUp(pw, pieces);
    plan.registerH = pieces == 1 ? equalPiece(ph, std::max<std::int64_t>(1, rows / plan.registerW)) : 1;
    const std::int64_t plane = plan.registerW * plan.registerH;
    plan.registerD = pieces == 1 && plan.registerH == ph ? equalPiece(pd, std::max<std::int64_t>(1, rows / plane)) : 1;
    const bool whole = pieces == 1 && plan.registerH == ph && plan.registerD == pd;
    plan.registerN = whole && !plan.packA && !plan.bufferC
                         ? equalPiece(std::max<std::int64_t>(1, g.view.batch),
                                      std::max<std::int64_t>(1, rows / (plane * plan.registerD)))
                         : 1;
    out.push_back(plan);
    if (pw <= pieces) break;
  }
}

// One vector of results: a scalar feeds one multiply-add, and loads bind, unless all taps along W that use it take it at once.
void addBroadcastReuse(const DataView& g, const Machine& m, DirectDataPlan plan, bool tail,
                       std::vector<DirectDataPlan>& out) {
  const std::int64_t taps = divUp(g.view.kernel.w, g.view.bigIsX ? g.view.stride.w : 1);  // of a residue class
  if (g.result.channels > m.isa.lanes() || taps < 2) return;
  plan.broadcastTaps = equalPiece(taps, kMostBroadcastTaps);
  const std::int64_t rows = usableRegisters(m, tail) - 1 - plan.broadcastTaps;
  const std::int64_t blocks = plan.packA ? 0 : stepsOfBlock(g.operand, plan.dotProducts);
  const std::int64_t reduced = blocks > 0 ? blocks : g.operand.words(plan.dotProducts),
                     most = std::max<std::int64_t>(1, kBroadcastUses / (rows * plan.broadcastTaps));
  plan.unroll = std::min(most, reduced);
  for (std::int64_t u = plan.unroll; 2 * u > plan.unroll || blocks > 0; --u) {
    if (reduced % u == 0) {
      plan.unroll = u;
      break;
    }
  }
  addBoxes(g, plan, rows, out);
}

// What volumes that come from memory need, measured on 3D U-Net's large layers (Zen 5): planes of a task that follow each other, planes in a
// panel, the fewest of their rows, and the panel's share of L2.
constexpr std::int64_t kDepths = 14, kPanelDepths = 4, kRowsOfDepths = 4;
constexpr double kMostOfL2 = 1.25;

// Rows (or pixels, where there is one axis) a task works on; with panels, what a panel holds.
void addCacheBlocks(const DataView& g, const Machine& m, const DirectDataPlan& base, std::vector<DirectDataPlan>& out) {
  const bool panels = base.packA || base.bufferC;
  const std::int64_t along = g.view.oneAxis ? g.phaseLength[2] : g.phaseLength[1];
  const std::int64_t block = g.view.oneAxis ? base.registerW : base.registerH;
  const std::int64_t gather = g.view.bigIsX ? 1 : 0;
  const std::int64_t strideAlong = g.view.oneAxis ? g.view.stride.w : g.view.stride.h;
  const std::int64_t resultStep = gather != 0 ? strideAlong : 1, operandStep = gather != 0 ? 1 : strideAlong;
  DirectDataPlan plan = base;
  plan.cache.d = base.registerD;
  const double rowOperand = static_cast<double>((g.view.oneAxis ? 1 : g.operand.extent.w) * g.operand.channels * 4);
  const std::int64_t partials =
      base.vectorize == DataVectors::kInputChannels ? m.isa.lanes() : 1;  // a vector for each result
  const double rowResult =
      static_cast<double>((g.view.oneAxis ? 1 : g.result.extent.w) * g.result.channels * 4 * partials);
  std::vector<std::int64_t> blocks{1, 2, 4, 8, 16, 64, 256};
  for (const std::int64_t tasks : {1, 2, 4}) blocks.push_back(divUp(along, tasks * m.cores * block));  // equal shares
  std::sort(blocks.begin(), blocks.end());
  const std::int64_t least = divUp(divUp(along, block), kMostBlocks);  // of a program's steps
  std::int64_t last = 0;
  for (const std::int64_t target : blocks) {
    const std::int64_t rows = std::min(std::max(target, least), divUp(along, block)) * block;
    if (panels) {
      const double bytes = static_cast<double>(rows) * (static_cast<double>(operandStep) * rowOperand +
                                                        static_cast<double>(resultStep) * rowResult);
      if (bytes > 0.6 * static_cast<double>(m.buffers.l1Bytes) && rows > block) continue;
    }
    if (rows == last) continue;
    last = rows;
    plan.cache.h = rows;
    out.push_back(plan);
    // Neighbouring planes read the same ones: a task that goes on to the next finds most of what it needs in L2.
    if (!farVolume(g.view, g.operand, m) || rows < kRowsOfDepths * block || rows > 2 * kRowsOfDepths * block) continue;
    plan.cache.d =
        equalPiece(divUp(g.phaseLength[0], base.registerD), panels ? kPanelDepths : kDepths) * base.registerD;
    const double reached = static_cast<double>((plan.cache.d + (g.view.kernel.d - 1) * g.view.dilation.d) *
                                               (rows + (g.view.kernel.h - 1) * g.view.dilation.h));
    if (!panels || reached * rowOperand <= kMostOfL2 * static_cast<double>(m.buffers.l1Bytes)) out.push_back(plan);
    plan.cache.d = base.registerD;
  }
}

// The same box with weights packed by the task that uses them: the task keeps one block of channels and walks all pixels.
void addPrivateWeights(const DataView& g, const Machine& m, DirectDataPlan plan, std::vector<DirectDataPlan>& out) {
  const std::int64_t tasks = g.view.groups * divUp(g.result.channels, plan.registerVectors * m.isa.lanes());
  plan.packB = PackWeights::kPerTask;
  plan.order = IterateOrder::kChannelsOuter;
  plan.batchParts = std::clamp<std::int64_t>(divUp(4L * m.cores, tasks), 1, std::max<std::int64_t>(1, g.view.batch));
  if (plan.packA || plan.bufferC) {
    addCacheBlocks(g, m, plan, out);
    return;
  }
  const std::int64_t along = g.view.oneAxis ? g.phaseLength[2] : g.phaseLength[1];
  const std::int64_t block = g.view.oneAxis ? plan.registerW : plan.registerH;
  plan.cache.h = divUp(along, block) * block;
  plan.cache.d = divUp(g.phaseLength[0], plan.registerD) * plan.registerD;
  out.push_back(plan);
}

void addInputChannelPlans(const Problem& problem, const Machine& m, bool dots, std::vector<DirectDataPlan>& out) {
  const DataView g = viewOf(problem);
  const std::int64_t lanes = m.isa.lanes(), channels = g.result.channels;
  std::vector<DirectDataPlan> boxes, cacheBlocks;
  DirectDataPlan plan;
  plan.dotProducts = dots;
  const std::int64_t reduced = g.operand.words(plan.dotProducts);
  if (channels > kMostInputChannelResults || reduced < lanes / 2 || (g.result.channelsLast && g.view.groups > 1))
    return;
  plan.vectorize = DataVectors::kInputChannels;
  plan.bufferC = true;
  plan.packA = !g.operand.directFor(plan.dotProducts);
  plan.unroll = std::min<std::int64_t>(4, divUp(reduced, lanes));
  const std::int64_t rows = (usableRegisters(m, true) - channels - 3) / channels;  // a few temporaries
  if (rows < 1) return;
  for (const std::int64_t limit : {rows, std::int64_t{6}, std::int64_t{4}}) {
    if (limit <= rows) addBoxes(g, plan, limit, boxes);
  }
  for (const DirectDataPlan& box : boxes) addCacheBlocks(g, m, box, cacheBlocks);
  for (DirectDataPlan& cache : cacheBlocks) {
    if (cache.cache.h == 1 && g.phaseLength[1] > 1) continue;  // a row at a time restarts its streams too often
    for (const std::int64_t depths : {1, 2, 4, 8}) {
      cache.cache.d = std::min(depths, divUp(g.phaseLength[0], cache.registerD)) * cache.registerD;
      out.push_back(cache);
      if (cache.cache.d >= g.phaseLength[0]) break;
    }
  }
}

// Blocks of channels and pixels that registers hold.
void addChannelBoxes(const DataView& g, const Machine& m, bool dotProducts, std::vector<DirectDataPlan>& boxes) {
  const std::int64_t lanes = m.isa.lanes(), channels = g.result.channels;
  const bool tail = channels % lanes != 0;
  const std::int64_t most = std::min<std::int64_t>(4, divUp(channels, lanes));
  for (std::int64_t vectors = most; vectors >= 1; --vectors) {
    DirectDataPlan plan;
    plan.vectorize = DataVectors::kOutputChannels;
    plan.registerVectors = vectors;
    plan.dotProducts = dotProducts;
    plan.bufferC = !g.result.resultsInPlace(lanes, vectors * lanes);
    const std::int64_t beside =
        !plan.bufferC && roundsByIntegers(g.result.dtype, m.isa) ? std::max<std::int64_t>(vectors + 1, 3) : vectors + 1;
    const std::int64_t rows = (usableRegisters(m, tail) - beside) / vectors;
    if (rows < 1) continue;
    const std::int64_t blocks = stepsOfBlock(g.operand, plan.dotProducts);
    plan.unroll =
        blocks > 0 ? std::min(blocks, kWholeBlock) : chooseUnroll(g.operand.words(plan.dotProducts), rows * vectors);
    const bool inPlace = g.operand.sumsInPlace(plan.dotProducts, plan.unroll);
    plan.packA = !inPlace;
    if (!inPlace) plan.unroll = chooseUnroll(g.operand.words(plan.dotProducts), rows * vectors);
    if (inPlace && comesFromMemory(g.view, g.operand, m)) plan.prefetch = Prefetch::kOperands;
    addBoxes(g, plan, rows, boxes);
    if (rows > 8 && vectors > 1) addBoxes(g, plan, 8, boxes);
    addBroadcastReuse(g, m, plan, tail, boxes);
    // Pixels whose pitch is a multiple of 4 KiB share one L1 set: stage them with an odd pitch. Lines come from memory.
    if (inPlace && (g.operand.wStride % 2048 == 0 || g.operand.c0 > 0 || farOperand(g.view, g.operand, m))) {
      plan.packA = true;
      plan.prefetch = Prefetch::kUsual;
      addBoxes(g, plan, rows, boxes);
    }
  }
}

// Whole rows that `pixels` rows of tiles have room for, nearly equally many in each block.
std::int64_t rowsOfTiles(const DataView& g, std::int64_t pixels) {
  const std::int64_t along = g.phaseLength[2];
  if (g.view.stride.h != 1 || g.view.stride.w != 1) return 1;
  std::int64_t rows = 1;
  while (rows < g.phaseLength[1] && flatPixels(g.view, rows + 1, along) <= pixels) ++rows;
  return equalPiece(g.phaseLength[1], rows);
}

// Blocks of two by two tiles, or as many as there are.
void addTilePlans(const Problem& problem, const Machine& m, std::vector<DirectDataPlan>& out) {
  if (m.isa.matrixUnit() == nullptr) return;
  DirectDataPlan plan;
  plan.matrixUnit = plan.dotProducts = plan.packA = plan.bufferC = true;
  DataView g = viewOf(problem, axisOf(plan));
  g.view.oneAxis = false;
  if (m.isa.matrixProduct(g.operand.dtype) == nullptr || !dotApplies(problem, Pass::kDx, g.operand.dtype)) return;
  const std::int64_t vectors = divUp(g.result.channels, kTileColumns), pixels = g.phaseLength[2];
  // Panels have whole rows; signals that are far too long for that are for plans that cut them.
  constexpr double kMostOfRow = 8;
  const double row = static_cast<double>(g.operand.extent.w * g.operand.channels * 2) +
                     static_cast<double>(g.result.extent.w * g.result.channels * 4);
  if (row > kMostOfRow * static_cast<double>(m.buffers.l1Bytes)) return;
  for (const auto& [rows, columns] : kTileBlocks) {
    plan.registerVectors = std::min(columns, vectors);
    plan.registerW = equalPiece(pixels, rows * kTileRows);
    plan.registerH = rowsOfTiles(g, rows * kTileRows);
    std::vector<DirectDataPlan> cached;
    for (const bool packA : {true, false}) {
      plan.packA = packA;
      addCacheBlocks(g, m, plan, cached);
      if (tapsOfProduct(g.view) == 1) addPrivateWeights(g, m, plan, out);
      if (!g.operand.directFor(true) || g.view.kernel.w > 1 || g.view.pad.w > 0 || plan.registerH > 1 ||
          PairProducts(pairsOfTaps(g.view)).zeros > 0)
        break;
    }
    for (DirectDataPlan& each : cached) {
      for (const IterateOrder order : {IterateOrder::kPixelsOuter, IterateOrder::kChannelsOuter}) {
        each.order = order;
        out.push_back(each);
      }
    }
  }
}

}  // namespace

std::vector<DirectDataPlan> inputChannelCandidates(const Problem& problem, const Machine& m) {
  std::vector<DirectDataPlan> out;
  for (const bool dots : wholePairs(problem) ? dotChoices(problem, Pass::kDx, m) : std::vector<bool>{false})
    addInputChannelPlans(problem, m, dots, out);
  return out;
}

std::vector<DirectDataPlan> directDataCandidates(const Problem& problem, const Machine& m) {
  const DataView g = viewOf(problem);
  std::vector<DirectDataPlan> boxes, out;
  std::vector<bool> choices = dotChoices(problem, Pass::kDx, m);
  // Few channels, an odd number of them, may cost more to pair than they save.
  if (choices.back() && !wholePairs(problem)) choices.push_back(false);
  for (const bool dots : choices) addChannelBoxes(g, m, dots, boxes);
  for (const DirectDataPlan& box : boxes) addCacheBlocks(g, m, box, out);
  std::vector<DirectDataPlan> both;
  for (DirectDataPlan& plan : out) {
    for (const IterateOrder order : {IterateOrder::kPixelsOuter, IterateOrder::kChannelsOuter}) {
      plan.order = order;
      both.push_back(plan);
    }
  }
  for (const DirectDataPlan& box : boxes) addPrivateWeights(g, m, box, both);
  addTilePlans(problem, m, both);
  // Few pixels do not pay for packing weights that can be read in place.
  if (g.view.taps() == 1 && g.view.bigIsX && g.view.batch * g.view.small.extent.volume() <= 64 && g.operand.direct() &&
      channelsSideBySide(problem)) {
    const std::size_t count = both.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (both[i].packsPerTask()) continue;
      both.push_back(both[i]);
      both.back().packB = PackWeights::kNone;
    }
  }
  return both;
}

}  // namespace cubejit
