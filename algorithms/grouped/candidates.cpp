// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the candidate plans with groups side by side: runs of pixels and taps that fit the registers, cache blocks, reduction blocks, partitions.
#include "algorithms/grouped/grouped.h"

#include <utility>

#include "algorithms/grouped/shape.h"
#include "algorithms/kit/reduction_partition.h"
#include "algorithms/kit/reorder.h"

namespace cubejit {
namespace {

// Longer kernels along W would make block classes, and their lists, grow without bound; channel lanes take those.
constexpr std::int64_t kLongestKernel = 512;
// Rows of a block of results: more leave runs shorter than the kernel. Kernels of several rows have three times as many sections,
// which take turns: with more than two channels to a group they outgrow what the core keeps decoded (4 a group: 8 % slower).
constexpr std::int64_t kMostRows = 3, kMostChannelsOfRows = 2;

std::int64_t roundUp(std::int64_t value, std::int64_t step) { return divUp(value, step) * step; }

// The ways of two tensors, with a panel (true) or without. A panel for the second one alone does not pay.
std::vector<std::pair<bool, bool>> panelChoices(GroupPanel first, GroupPanel second) {
  std::vector<std::pair<bool, bool>> choices;
  for (const bool x : {false, true}) {
    for (const bool y : {false, true}) {
      const bool legal = (x ? first != GroupPanel::kNever : first != GroupPanel::kMust) &&
                         (y ? second != GroupPanel::kNever : second != GroupPanel::kMust);
      if (legal && (x || !y || second == GroupPanel::kMust)) choices.emplace_back(x, y);
    }
  }
  return choices;
}

void addCacheBlocks(const GroupedShape& s, const Machine& m, GroupedDataPlan plan, std::vector<GroupedDataPlan>& out) {
  const bool oneAxis = s.view.oneAxis;
  const std::int64_t along = oneAxis ? s.result.extent.w : s.result.extent.h;
  plan.cache.d = 1;
  const bool bufferC = buffersResults(s.result, m.isa);
  if (!plan.packA && !bufferC) {
    plan.order = IterateOrder::kChannelsOuter;
    plan.cache.h = along;
    out.push_back(plan);
    plan.order = IterateOrder::kPixelsOuter;
    for (const std::int64_t parts : {std::int64_t{1}, std::int64_t{4}, std::int64_t{16},
                                     divUp(along, (oneAxis ? plan.registerW : plan.registerH) * kMostBlocks / 4)}) {
      plan.cache.h = roundUp(equalPiece(along, std::max<std::int64_t>(1, divUp(along, parts))), plan.registerH);
      if (oneAxis) plan.cache.h = std::max(plan.cache.h, plan.registerW);
      out.push_back(plan);
    }
    return;
  }
  // Panels: a few channels of many rows, so that little is loaded twice.
  const double budget = 0.45 * static_cast<double>(m.buffers.l1Bytes);
  std::int64_t lastEach = 0;
  for (const std::int64_t blocksEach : {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, s.blocks}) {
    if (blocksEach > s.blocks || blocksEach <= lastEach) continue;
    lastEach = blocksEach;
    plan.groupParts = divUp(s.blocks, blocksEach);
    const double channels = static_cast<double>(blocksEach * m.isa.lanes());
    const double rowBytes = 4.0 * channels *
                            ((plan.packA ? static_cast<double>(oneAxis ? 1 : s.operand.extent.w) : 0.0) +
                             (bufferC ? static_cast<double>(oneAxis ? 1 : s.result.extent.w) : 0.0));
    for (const std::int64_t depths :
         {s.result.extent.d, std::min<std::int64_t>(4, s.result.extent.d), std::int64_t{1}}) {
      const std::int64_t reach = depths + (s.view.kernel.d - 1) * s.view.dilation.d;
      const auto rows = static_cast<std::int64_t>(budget / (rowBytes * static_cast<double>(reach)));
      if (rows < std::min<std::int64_t>(along, 4) && depths > 1) continue;
      plan.cache.d = depths;
      plan.cache.h = roundUp(
          equalPiece(along, std::max({oneAxis ? plan.registerW : 1, rows, divUp(along, kMostBlocks)})), plan.registerH);
      out.push_back(plan);
      if (depths == 1) break;
    }
  }
}

std::vector<GroupedDataPlan> dataCandidates(const GroupedShape& s, const Machine& m, bool dotProducts) {
  std::vector<GroupedDataPlan> out;
  GroupedDataPlan plan;
  plan.dotProducts = dotProducts;
  const GroupPanels panels = groupPanels(s, Pass::kDx, m, dotProducts);
  const bool wide = m.isa.vectorRegs >= 32;
  const std::int64_t registers = usableRegisters(m, true);
  const std::int64_t width = std::max<std::int64_t>(1, s.result.extent.w), step = s.view.bigIsX ? s.view.stride.w : 1;
  std::int64_t lastTaps = 0;
  for (const std::int64_t limit : {wide ? 8 : 4, wide ? 4 : 2}) {
    plan.registerTaps = equalPiece(s.view.kernel.w, limit);
    if (plan.registerTaps == lastTaps) continue;
    lastTaps = plan.registerTaps;
    const std::int64_t free = registers - (s.permuted ? 4 : 2);
    // Rows side by side share what they read, and take weights, and a shorter run, each.
    const std::int64_t mostRows = s.permutedChannels <= kMostChannelsOfRows ? std::min(kMostRows, s.view.kernel.h) : 1;
    for (std::int64_t rows = 1; rows <= mostRows; ++rows) {
      // Rows of other phases than their neighbours' would make each block's kernels others than the next one's.
      if (rows > 1 && s.view.bigIsX && rows % s.view.stride.h != 0) continue;
      const std::int64_t most = std::max<std::int64_t>(1, free / rows - plan.registerTaps);
      std::int64_t last = 0;
      plan.registerH = rows;
      for (const std::int64_t target : {most, most * 3 / 4, most / 2}) {
        const std::int64_t run = std::min(roundUp(equalPiece(width, std::max<std::int64_t>(1, target)), step),
                                          std::max<std::int64_t>(1, free / rows));
        if (run == last) continue;
        last = run;
        plan.registerW = run;
        for (const bool packA : {false, true}) {
          if (panels.a == (packA ? GroupPanel::kNever : GroupPanel::kMust)) continue;
          plan.packA = packA;
          addCacheBlocks(s, m, plan, out);
        }
      }
    }
  }
  return out;
}

// Reduction blocks: pixels whose operands fit a share of L2, in whole rows, planes or images.
void setReduction(const GroupedShape& s, GroupedWeightsPlan& plan, double budgetBytes) {
  const ConvView& v = s.view;
  const Dhw& e = v.small.extent;
  const double channels = static_cast<double>(divUp(s.blocks, plan.groupParts) * s.perBlock);
  const double pixelBytes = 4.0 * channels *
                            (static_cast<double>(v.small.channels) +
                             static_cast<double>(v.big.channels) * static_cast<double>(v.stride.volume()));
  const auto pixels = static_cast<std::int64_t>(std::max(64.0, budgetBytes / std::max(1.0, pixelBytes)));
  plan.reduction.n = plan.reduction.d = plan.reduction.h = 1;
  if (v.oneAxis) {
    plan.reduction.h = std::max<std::int64_t>(1, equalPiece(e.w, pixels));
    if (plan.reduction.h >= e.w)
      plan.reduction.n =
          std::clamp<std::int64_t>(pixels / std::max<std::int64_t>(1, e.w), 1, std::max<std::int64_t>(1, v.batch));
    return;
  }
  plan.reduction.h = equalPiece(e.h, std::max<std::int64_t>(1, pixels / std::max<std::int64_t>(1, e.w)));
  if (plan.reduction.h < e.h) return;
  plan.reduction.d = equalPiece(e.d, std::max<std::int64_t>(1, pixels / std::max<std::int64_t>(1, e.w * e.h)));
  if (plan.reduction.d < e.d) return;
  plan.reduction.n =
      std::clamp<std::int64_t>(pixels / std::max<std::int64_t>(1, e.volume()), 1, std::max<std::int64_t>(1, v.batch));
}

void addWeightDeals(const GroupedShape& s, const Machine& m, GroupedWeightsPlan plan,
                    std::vector<GroupedWeightsPlan>& out) {
  const std::int64_t images = std::max<std::int64_t>(1, s.view.batch);
  const std::int64_t units = divUp(s.blocks, plan.registerVectors);
  for (const std::int64_t parts : {std::int64_t{1}, std::min<std::int64_t>(units, 2L * m.cores), units}) {
    plan.groupParts = parts;
    for (const double share : {0.15, 0.5, 8.0}) {
      if (share > 1.0 && (plan.packA || plan.packB)) continue;
      setReduction(s, plan, share * static_cast<double>(m.buffers.l1Bytes));
      const std::int64_t least = ReductionPartition(s.view, plan.reduction).sums().leastParts();
      for (const std::int64_t splits :
           {std::int64_t{1}, std::min<std::int64_t>(images, m.cores), std::int64_t{2L * m.cores}}) {
        if (parts >= 2L * m.cores && splits > 1) continue;
        plan.reductionParts = std::max(splits, least);
        out.push_back(plan);
      }
    }
    if (units == parts) break;
  }
}

std::vector<GroupedWeightsPlan> directWeightsCandidates(const GroupedShape& s, const Machine& m) {
  std::vector<GroupedWeightsPlan> out;
  GroupedWeightsPlan plan;
  const GroupPanels panels = groupPanels(s, Pass::kDw, m, false);
  const std::int64_t most = usableRegisters(m, true) - (s.permuted ? 5 : 4);  // leaves two for operands
  const Dhw& k = s.view.kernel;
  std::int64_t lastH = 0;
  for (const std::int64_t tapsHigh : {k.h, equalPiece(k.h, 3), std::int64_t{1}}) {
    if (tapsHigh == lastH || tapsHigh > most) continue;
    lastH = tapsHigh;
    std::int64_t lastW = 0;
    for (const std::int64_t limit : {most / tapsHigh, std::min<std::int64_t>(most / tapsHigh, 8), std::int64_t{3}}) {
      if (limit < 1 || limit * tapsHigh > most) continue;
      const std::int64_t tapsWide = equalPiece(k.w, limit);
      // A column of taps reuses no operand along W and multiplies the row subsets a kernel spells out.
      if (tapsWide == lastW || (tapsHigh > 1 && tapsWide < std::min<std::int64_t>(3, k.w))) continue;
      lastW = tapsWide;
      const std::int64_t channels =
          equalPiece(s.permutedChannels, std::max<std::int64_t>(1, most / (tapsHigh * tapsWide)));
      plan.registerTapsH = tapsHigh;
      plan.registerTapsW = tapsWide;
      plan.registerChannels = channels;
      for (const std::int64_t blocks : {1, 2, 4}) {  // side by side
        if (blocks > 1 && (s.permuted || !s.spacesEvenly() || blocks > s.blocks || blocks * tapsHigh * tapsWide > most))
          break;
        plan.registerVectors = blocks;
        for (const std::int64_t unroll : {4, 8, 16}) {
          plan.unroll = std::min<std::int64_t>(unroll, std::max<std::int64_t>(1, s.view.small.extent.w));
          for (const auto& [a, b] : panelChoices(panels.a, panels.b)) {
            plan.packA = a;
            plan.packB = b;
            addWeightDeals(s, m, plan, out);
          }
        }
      }
    }
  }
  return out;
}

}  // namespace

bool groupedApplies(const Problem& problem, const Machine& machine) {
  const ConvView v = makeConvView(problem, Pass::kDw);
  const std::int64_t lanes = machine.isa.lanes();
  return v.groups > 1 && v.big.channels <= lanes && v.small.channels <= lanes && v.kernel.w <= kLongestKernel;
}

std::vector<GroupedDataPlan> groupedDataCandidates(const Problem& problem, const Machine& machine) {
  if (!groupedApplies(problem, machine)) return {};
  return dataCandidates(groupedShape(problem, Pass::kDx, machine.isa.lanes(), false), machine, false);
}

std::vector<GroupedWeightsPlan> groupedWeightsCandidates(const Problem& problem, const Machine& machine) {
  if (!groupedApplies(problem, machine)) return {};
  return directWeightsCandidates(groupedShape(problem, Pass::kDw, machine.isa.lanes(), false), machine);
}

std::vector<GroupedDataPlan> groupedDotCandidates(const Problem& problem, const Machine& machine) {
  if (!machine.isa.bf16Dot || !dotApplies(problem, Pass::kDx) || !wholePairs(problem) ||
      !groupedApplies(problem, machine))
    return {};
  const GroupedShape s = groupedShape(problem, Pass::kDx, machine.isa.lanes(), true);
  const bool fills = s.perBlock <= 1;  // lanes of channels do the same, with blocks of rows
  if (fills) return {};
  return dataCandidates(s, machine, true);
}

}  // namespace cubejit
