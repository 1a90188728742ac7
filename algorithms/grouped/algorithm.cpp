// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tensors small groups are read from, and which plans of them are looked at.
#include "algorithms/grouped/grouped.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/table.h"

namespace cubejit {
namespace {

// Dense activations of any type, plain or channels-last, through panels where need be; blocked ones where they lie, if blocks hold whole
// groups (dx of several channels a group: and the last block is full), but for HF32, whose operands are rounded when they are converted.
bool takesActivation(const Problem& p, TensorId t) {
  if (isPlainOrChannelsLast(p, t)) return true;
  const TensorFormat f = formatOf(p, t);
  const bool activation = t == TensorId::kDy || t == TensorId::kX || t == TensorId::kDx;
  if (!activation || f.strided() || f.layout != Layout::kNdc1hwc0 || isHf32(f.dtype)) return false;
  const std::int64_t channels = t == TensorId::kDy ? p.cout : p.cin, block = f.blockChannels();
  const bool depthwise = p.cin == p.groups && p.cout == p.groups;
  return channels > 0 && block % (channels / p.groups) == 0 &&
         (t != TensorId::kDx || depthwise || channels % block == 0);
}

bool takes(const Problem& p, const TilingPlan& plan, TensorId t) {
  const bool packsPairs = plan.gradient == Gradient::kDx && plan.dotProducts;
  return isCore(formatOf(p, t), t) || takesActivation(p, t) ||
         (packsPairs && t == TensorId::kW && isDenseInWholeBlocks(p, t));
}

std::vector<Candidates> candidates(const Problem& asked, Gradient gradient, const Machine& machine) {
  TilingPlan plain, pairs;
  pairs.dotProducts = true;
  const Reorders all = reordersToCore(asked, gradient),
                 few = reordersFor(gradient, [&](TensorId t) { return takes(asked, plain, t); }),
                 ofPairs = reordersFor(gradient, [&](TensorId t) { return takes(asked, pairs, t); });
  std::vector<Candidates> out;
  if (few != all) out.push_back({few, cellsCandidates(coreProblem(asked, gradient, few), gradient, machine)});
  if (gradient == Gradient::kDx && ofPairs != all)
    out.push_back({ofPairs, cellsDotCandidates(coreProblem(asked, gradient, ofPairs), machine)});
  out.push_back({all, cellsCandidates(coreProblem(asked, gradient, all), gradient, machine)});
  return out;
}

}  // namespace

extern const Algorithm grouped{
    "grouped",
    "depthwise and small groups",
    {/*dx=*/true, /*dw=*/true, false},
    [](const TilingPlan& plan) { return plan.gradient != Gradient::kDb && plan.lanes == LaneRole::kGroupCells; },
    nullptr,
    candidates,
    takes,
    groupedRules,
    cellsCost,
    lowerGrouped,
    nullptr,
    nullptr};

}  // namespace cubejit
