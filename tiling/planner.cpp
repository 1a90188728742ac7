// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plan wins: every candidate is checked, costed and ranked; nothing is repaired.
#include "tiling/planner.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "cubejit/conv_view.h"
#include "cubejit/index_map.h"
#include "cubejit/npu.h"
#include "cubejit/staging.h"
#include "tiling/bias_candidates.h"
#include "tiling/cells_candidates.h"
#include "tiling/data_candidates.h"
#include "tiling/host_shape.h"
#include "tiling/memory_hints.h"
#include "tiling/npu/cube_space.h"
#include "tiling/pixel_candidates.h"
#include "tiling/weight_pixel_candidates.h"
#include "tiling/weights_candidates.h"
#include "tiling/winograd_candidates.h"

namespace cubejit {
namespace {

std::vector<TilingPlan> channelCandidatesOf(const Problem& problem, Gradient gradient, const Machine& machine) {
  if (gradient == Gradient::kDb) return biasCandidates(problem, machine);
  return gradient == Gradient::kDx ? dataChannelCandidates(problem, machine) : weightCandidates(problem, machine);
}

std::vector<TilingPlan> pixelCandidatesOf(const Problem& problem, Gradient gradient, const Machine& machine) {
  return gradient == Gradient::kDx ? dataPixelCandidates(problem, machine) : weightPixelCandidates(problem, machine);
}

std::vector<TilingPlan> candidatesOf(const Problem& problem, Gradient gradient, const Machine& machine) {
  std::vector<TilingPlan> plans = channelCandidatesOf(problem, gradient, machine);
  if (gradient == Gradient::kDb) return plans;
  const auto append = [&](const std::vector<TilingPlan>& more) { plans.insert(plans.end(), more.begin(), more.end()); };
  append(pixelCandidatesOf(problem, gradient, machine));
  if (gradient == Gradient::kDx) append(dataReducedCandidates(problem, machine));
  if (cellsApply(problem, machine)) append(cellsCandidates(problem, gradient, machine));
  return plans;
}

PlanCost costOf(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  if (plan.gradient == Gradient::kDb) return biasCost(problem, plan, machine);
  if (plan.lanes == LaneRole::kWinograd) return winogradCost(problem, plan, machine);
  if (plan.lanes == LaneRole::kGroupCells) return cellsCost(problem, plan, machine);
  if (plan.gradient == Gradient::kDx) {
    if (plan.lanes == LaneRole::kReduced) return dataReducedCost(problem, plan, machine);
    return plan.lanes == LaneRole::kPixels ? dataPixelCost(problem, plan, machine)
                                           : dataChannelCost(problem, plan, machine);
  }
  return plan.lanes == LaneRole::kPixels ? weightPixelCost(problem, plan, machine) : weightCost(problem, plan, machine);
}

// What lowerings take as it is: all of them the core formats, channel lanes every native one, reduced lanes native operands,
// group cells and pixel lanes dense activations (cells of pairs: weights as well), Winograd channels-last ones of f32.
enum class Takes : std::uint8_t { kCore, kNative, kNativeOperands, kCells, kPairCells, kPixels, kChannelsLast };

bool isChannelsLastCore(const TensorFormat& f, TensorId t) {
  const bool weights = t == TensorId::kW || t == TensorId::kDw;
  return isCore(f, t) && (weights || f.layout == Layout::kNdhwc);
}

TilingPlan stagingFor(const Problem& problem, Gradient gradient, Takes takes) {
  TilingPlan staging;
  staging.gradient = gradient;
  const GradientTensors tensors = tensorsOf(gradient);
  for (std::size_t i = 0; i < tensors.count; ++i) {
    const TensorId t = tensors.ids[i];
    const bool bias = gradient == Gradient::kDb && t == TensorId::kDy;
    const bool native = takes == Takes::kNative || (takes == Takes::kNativeOperands && i + 1 < tensors.count);
    const bool cells = takes == Takes::kCells || takes == Takes::kPairCells;
    const bool taken = bias    ? takes == Takes::kNative && isNativeOfBias(formatOf(problem, t))
                       : cells ? isNativeOfCells(problem, t) ||
                                     (takes == Takes::kPairCells && t == TensorId::kW && isNative(problem, t))
                       : takes == Takes::kPixels ? isNativeOfPixels(problem, t)
                                                 : native && isNative(problem, t);
    const bool core =
        takes == Takes::kChannelsLast ? isChannelsLastCore(formatOf(problem, t), t) : isCore(formatOf(problem, t), t);
    if (!core && !taken) setStaged(staging, t);
  }
  return staging;
}

// What stays native of dX if columns become channels: w is moved, and dx too unless it is channels-last.
TilingPlan foldedStaging(const Problem& problem) {
  TilingPlan staging = stagingFor(problem, Gradient::kDx, Takes::kNative);
  staging.spaceToDepth = true;
  setStaged(staging, TensorId::kW);
  if (formatOf(problem, TensorId::kDx).layout != Layout::kNdhwc) setStaged(staging, TensorId::kDx);
  return staging;
}

bool sameStaging(const TilingPlan& a, const TilingPlan& b) {
  return a.stageDy == b.stageDy && a.stageX == b.stageX && a.stageW == b.stageW && a.stageResult == b.stageResult;
}

// Core cycles of all conversions, one core: both ends go through memory, unless the copy fits the last cache.
double stagingCycles(const Problem& problem, const TilingPlan& staging, const Machine& machine) {
  double cycles = 0;
  const GradientTensors tensors = tensorsOf(staging.gradient);
  for (std::size_t i = 0; i < tensors.count; ++i) {
    const TensorId t = tensors.ids[i];
    if (isStaged(staging, t) && (i == 0 || t != tensors.ids[i - 1])) cycles += conversionCycles(problem, t, machine);
  }
  return cycles;
}

// The GEMM view of what a task works on, for people. `problem` is the core problem.
Mkn shapeOf(const Problem& problem, const TilingPlan& plan) {
  const ConvView v = makeConvView(problem, plan.gradient);
  if (plan.gradient == Gradient::kDx) {
    const bool gather = v.bigIsX;
    const TensorView &result = gather ? v.big : v.small, &operand = gather ? v.small : v.big;
    return Mkn{plan.panelD * plan.panelH * (v.line ? 1 : result.extent.w), operand.channels * v.taps(),
               result.channels};
  }
  return Mkn{v.small.channels, v.batch * v.small.extent.volume(), v.big.channels * v.taps()};
}

// An NPU's report as a choice: what is said of its pipes, in the words the host's plans are compared by.
Result<PlanChoice> chooseNpuPlan(const Problem& problem, Gradient gradient, const Machine& machine, bool explain) {
  NpuPlanOptions options;
  options.explain = explain;
  CUBEJIT_TRY(report, planOnNpu(problem, gradient, machine, options));
  PlanChoice choice;
  choice.plan = report.plan;
  choice.cost.totalCycles = report.predictedCycles;
  choice.cost.memoryCycles = report.memoryCycles;
  choice.cost.bound = report.bound;
  for (const PipeUse& pipe : report.pipes) {
    const double cycles = pipe.cycles / machine.cores;
    (pipe.pipe == "cube"   ? choice.cost.computeCycles
     : pipe.pipe == "fill" ? choice.cost.callCycles
                           : choice.cost.moveCycles) += cycles;
  }
  Candidate candidate;
  for (const NpuCandidate& c : report.candidates) {
    candidate.plan = c.plan;
    candidate.cost.totalCycles = c.predictedCycles;
    candidate.cost.bound = c.bound;
    choice.considered.push_back(candidate);
  }
  for (const std::string& rule : report.refusedBy) {
    candidate.refusedBy = {rule};
    choice.considered.push_back(candidate);
  }
  return choice;
}

const char* purposeOf(LaneRole role) {
  switch (role) {
    case LaneRole::kPixels:
      return "dX of few result channels, dW of few pairs of channels a group out of plain tensors";
    case LaneRole::kReduced: return "dX of few result channels, channels-last";
    case LaneRole::kSwapped: return "dW";
    case LaneRole::kTaps: return "dW of several taps along W, dilation 1";
    case LaneRole::kGroupCells: return "depthwise and small groups";
    case LaneRole::kWinograd: return "kernels of 2 to 5 taps, stride 1, if math may be relaxed";
    case LaneRole::kChannels: break;
  }
  return "most layers";
}

// Names every rule that refused a candidate, once.
Error noPlan(const Problem& problem, Gradient gradient, const std::vector<Candidate>& refused, const Machine& machine,
             std::optional<LaneRole> algorithm) {
  std::string message = std::string("no legal plan for ") + toString(gradient) + " of this problem on " + machine.name;
  if (algorithm) {
    message += std::string(" with the algorithm ") + toString(*algorithm) + ", which is for " + purposeOf(*algorithm) +
               "; ask for another one, or leave it to the planner";
    TilingPlan plan;
    plan.gradient = gradient;
    plan.lanes = *algorithm;
    for (const TensorId t : tensorsOf(gradient).ids) setStaged(plan, t);
    if (refused.empty() && *algorithm == LaneRole::kWinograd) {
      for (const std::string& rule : winogradRules(coreProblem(problem, plan), plan, machine)) message += "\n" + rule;
    }
  }
  std::set<std::string> told;
  constexpr std::size_t kMostRules = 8;
  for (const Candidate& candidate : refused) {
    for (const std::string& rule : candidate.refusedBy) {
      if (told.size() < kMostRules && told.insert(rule).second) message += "\n" + rule;
    }
  }
  return Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan, message};
}

}  // namespace

double conversionCycles(const Problem& problem, TensorId t, const Machine& machine) {
  const auto outside = static_cast<double>(formatBytes(problem, t));
  const TensorFormat f = formatOf(problem, t);
  const double elements = static_cast<double>(outside) / static_cast<double>(byteSize(f.dtype));
  const double bytes = outside + elements * 4;
  const std::int64_t together =  // of a blocked tensor only a block's channels move at once
      f.layout == Layout::kNdc1hwc0 ? std::min<std::int64_t>(machine.isa.lanes(), f.blockChannels())
                                    : machine.isa.lanes();
  return bytes / bytesPerCycle(machine, bytes, true) + elements / static_cast<double>(together) * 4;
}

PlanCost planCost(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  if (machine.isNpu()) return cubePlanCost(problem, plan, machine);
  PlanCost cost = costOf(coreProblem(problem, plan), plan, machine);
  const double conversions = stagingCycles(problem, plan, machine);
  cost.moveCycles += conversions;
  cost.totalCycles += conversions / machine.cores;
  return cost;
}

Mkn singleShapeOf(const Problem& problem, const TilingPlan& plan) { return shapeOf(coreProblem(problem, plan), plan); }

namespace {

// Families of candidates meet where an extent leaves them no choice: each plan is shown once.
void dropRepeated(std::vector<Candidate>& candidates) {
  std::set<std::vector<std::int64_t>> seen;
  const auto repeated = [&](const Candidate& c) {
    std::vector<std::int64_t> decisions;
    describePlan(c.plan,
                 [&](const char*, const auto& field) { decisions.push_back(static_cast<std::int64_t>(field)); });
    return !seen.insert(std::move(decisions)).second;
  };
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), repeated), candidates.end());
}

// Whether all weights are packed in a phase of its own: not by the tasks as they go, not read in place.
bool packsBeforehand(const TilingPlan& plan) {
  return plan.packWeights && !(plan.lanes == LaneRole::kChannels && plan.panelB);
}

// Plans of the core problem that a staging leaves, best first in `legal`.
struct Search {
  const Problem& asked;
  const Machine& machine;
  bool explain;
  WeightsUse weights;
  std::optional<LaneRole> algorithm;
  std::vector<Candidate> legal, refused;  // without `explain` the best so far is enough

  void consider(const Problem& core, std::vector<TilingPlan> plans, const TilingPlan& staging) {
    const bool kept = weights == WeightsUse::kKept && staging.gradient == Gradient::kDx;
    double conversions = stagingCycles(asked, staging, machine);
    if (kept && staging.stageW) conversions -= conversionCycles(asked, TensorId::kW, machine);
    for (TilingPlan& plan : plans) {
      if (kept && !packsBeforehand(plan)) continue;
      if (algorithm && plan.gradient != Gradient::kDb && plan.lanes != *algorithm) continue;
      plan.stageDy = staging.stageDy;
      plan.stageX = staging.stageX;
      plan.stageW = staging.stageW;
      plan.stageResult = staging.stageResult;
      plan.spaceToDepth = staging.spaceToDepth;
      Candidate candidate;
      candidate.refusedBy = checkPlan(asked, plan, machine);
      const bool allowed = candidate.refusedBy.empty();
      if (!allowed && !explain && !legal.empty()) continue;
      if (allowed) {
        candidate.cost = costOf(core, plan, machine);
        if (kept) {
          candidate.cost.moveCycles -= candidate.cost.packCycles;
          candidate.cost.totalCycles -= candidate.cost.packCycles / machine.cores;
        }
        candidate.cost.moveCycles += conversions;
        candidate.cost.totalCycles += conversions / machine.cores;
        if (!explain && !legal.empty()) {
          if (candidate.cost.totalCycles >= legal.front().cost.totalCycles) continue;
          legal.clear();
        }
      }
      plan.streamingStore = allowed && streamingPays(core, plan, candidate.cost, machine);
      candidate.plan = plan;
      candidate.plan.singleShape = shapeOf(core, plan);
      (allowed ? legal : refused).push_back(std::move(candidate));
    }
  }
};

}  // namespace

Result<PlanChoice> choosePlan(const Problem& problem, Gradient gradient, const Machine& machine, bool explain,
                              WeightsUse weights, std::optional<LaneRole> algorithm) {
  if (machine.isNpu()) return chooseNpuPlan(problem, gradient, machine, explain);
  Search search{problem, machine, explain, weights, algorithm, {}, {}};
  const TilingPlan all = stagingFor(problem, gradient, Takes::kCore),
                   native = stagingFor(problem, gradient, Takes::kNative),
                   operands = stagingFor(problem, gradient, Takes::kNativeOperands),
                   cells = stagingFor(problem, gradient, Takes::kCells),
                   pairCells = stagingFor(problem, gradient, Takes::kPairCells),
                   pixels = stagingFor(problem, gradient, Takes::kPixels);
  if (!sameStaging(all, native)) {
    const Problem core = coreProblem(problem, native);
    search.consider(core, channelCandidatesOf(core, gradient, machine), native);
  }
  if (gradient != Gradient::kDb && !sameStaging(all, cells)) {
    const Problem core = coreProblem(problem, cells);
    if (cellsApply(core, machine)) search.consider(core, cellsCandidates(core, gradient, machine), cells);
  }
  if (gradient == Gradient::kDx && !sameStaging(all, pairCells)) {
    const Problem core = coreProblem(problem, pairCells);
    search.consider(core, cellsDotCandidates(core, machine), pairCells);
  }
  if (gradient != Gradient::kDb && !sameStaging(all, pixels)) {
    const Problem core = coreProblem(problem, pixels);
    search.consider(core, pixelCandidatesOf(core, gradient, machine), pixels);
  }
  if (gradient == Gradient::kDx && !sameStaging(all, operands)) {
    const Problem core = coreProblem(problem, operands);
    search.consider(core, dataReducedCandidates(core, machine), operands);
  }
  if (gradient == Gradient::kDx && foldable(problem)) {
    const TilingPlan folded = foldedStaging(problem);
    const Problem core = coreProblem(problem, folded);
    search.consider(core, channelCandidatesOf(core, gradient, machine), folded);
  }
  if (gradient != Gradient::kDb && problem.math == MathMode::kRelaxed) {
    const TilingPlan channelsLast = stagingFor(problem, gradient, Takes::kChannelsLast);
    const Problem core = coreProblem(problem, channelsLast);
    search.consider(core, winogradCandidates(core, gradient, machine), channelsLast);
  }
  const Problem core = coreProblem(problem, all);
  search.consider(core, candidatesOf(core, gradient, machine), all);
  auto& legal = search.legal;
  auto& refused = search.refused;
  PlanChoice choice;
  if (legal.empty()) return noPlan(problem, gradient, refused, machine, algorithm);
  std::stable_sort(legal.begin(), legal.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost.totalCycles < b.cost.totalCycles; });
  choice.plan = legal.front().plan;
  choice.cost = legal.front().cost;
  if (explain) {
    dropRepeated(legal);
    choice.considered = std::move(legal);
    choice.considered.insert(choice.considered.end(), std::make_move_iterator(refused.begin()),
                             std::make_move_iterator(refused.end()));
  }
  return choice;
}

}  // namespace cubejit
