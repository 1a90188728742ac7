// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plan wins: every candidate is checked, costed and ranked; nothing is repaired.
#include "tiling/planner.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "algorithms/algorithm.h"
#include "algorithms/cube/bias_plan.h"
#include "algorithms/cube/space.h"
#include "algorithms/kit/adjoint.h"
#include "algorithms/kit/rates.h"
#include "algorithms/kit/reorder.h"
#include "cubejit/index_map.h"
#include "cubejit/npu.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

// Core cycles of a tensor's conversion. Where columns are folded, weights move column of taps by column.
double reorderCycles(const Problem& problem, TensorId t, const Reorders& reorders, const Machine& machine) {
  const bool columns = reorders.spaceToDepth && isWeights(t);
  return conversionCycles(problem, t, stagedType(problem, t, reorders), machine) +
         (columns ? static_cast<double>(wElements(problem) / problem.kernel.h) * kCallCycles : 0.0);
}

// Core cycles of all conversions, one core: both ends go through memory, unless the copy fits the last cache.
double reorderCycles(const Problem& problem, Pass pass, const Reorders& reorders, const Machine& machine) {
  double cycles = 0;
  const PassTensors tensors = tensorsOf(pass);
  for (std::size_t i = 0; i < tensors.count; ++i) {
    const TensorId t = tensors.ids[i];
    if (isReordered(reorders, t) && (i == 0 || t != tensors.ids[i - 1]))
      cycles += reorderCycles(problem, t, reorders, machine);
  }
  return cycles;
}

// An NPU's report as a choice: what is said of its pipes, in the words the host's plans are compared by.
Result<PlanChoice> chooseNpuPlan(const Problem& problem, Pass pass, const Machine& machine, bool explain) {
  NpuPlanOptions options;
  options.explain = explain;
  CUBEJIT_TRY(report, planOnNpu(problem, pass, machine, options));
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

// Names every rule that refused a candidate, once.
Error noPlan(const Problem& problem, Pass pass, const std::vector<Candidate>& refused, const Machine& machine,
             const std::string& algorithm) {
  std::string message = std::string("no legal plan for ") + toString(pass) + " of this problem on " + machine.name;
  if (const Algorithm* asked = algorithmNamed(algorithm, pass)) {
    message += " with the algorithm " + algorithm + ", which is for " + asked->purpose +
               "; ask for another one, or leave it to the planner";
    const Problem core = coreProblem(problem, pass, reordersToChannelsLast(problem, pass));
    for (const std::string& rule : refused.empty() ? asked->applies(core) : std::vector<std::string>{})
      message += "\n" + rule;
  } else if (!algorithm.empty()) {
    message += ": the algorithm " + algorithm + " does not compute " + toString(pass);
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

double conversionCycles(const Problem& problem, TensorId t, DType copied, const Machine& machine) {
  auto outside = static_cast<double>(formatBytes(problem, t));
  const TensorFormat f = formatOf(problem, t);
  std::int64_t together = machine.isa.lanes();
  if (f.layout == Layout::kNdc1hwc0)
    together = std::min(together, f.blockChannels());  // only a block's channels move at once
  if (f.strided() && isActivation(t)) {
    const std::int64_t elements = isOfOutput(t) ? yElements(problem) : xElements(problem);
    outside = static_cast<double>(elements * byteSize(f.dtype));
    if (conv_view_detail::gapsOf(problem, t).apart) together = 1;  // elements move one by one
  }
  const double elements = outside / static_cast<double>(byteSize(f.dtype));
  const double bytes = outside + elements * static_cast<double>(byteSize(copied));
  return bytes / bytesPerCycle(machine, bytes, true) + elements / static_cast<double>(together) * 4;
}

PlanCost planCost(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  if (plan.pass == Pass::kY) return planCost(adjointOf(problem), asData(plan), machine);
  if (machine.isEmulated())
    return plan.pass == Pass::kDb ? biasPlanCost(problem, machine) : cubePlanCost(problem, plan, machine);
  PlanCost cost = algorithmOf(plan)->cost(coreProblem(problem, plan), plan, machine);
  const double conversions = reorderCycles(problem, plan.pass, plan.reorders, machine);
  cost.moveCycles += conversions;
  cost.totalCycles += conversions / machine.cores;
  return cost;
}

std::vector<TensorCopy> copiesOf(const Problem& problem, const TilingPlan& plan) {
  if (plan.is<CubePlan>()) return {};
  std::vector<TensorCopy> copies;
  if (plan.pass == Pass::kY) {
    copies = copiesOf(adjointOf(problem), asData(plan));
    for (TensorCopy& copy : copies) {
      if (copy.tensor != TensorId::kW) copy.tensor = copy.tensor == TensorId::kDy ? TensorId::kX : TensorId::kY;
    }
    return copies;
  }
  const Problem core = coreProblem(problem, plan);
  const PassTensors tensors = tensorsOf(plan.pass);
  for (std::size_t i = 0; i < tensors.count; ++i) {
    const TensorId t = tensors.ids[i];
    if (isReordered(plan.reorders, t) && (i == 0 || t != tensors.ids[i - 1]))
      copies.push_back({t, formatBytes(core, t)});
  }
  return copies;
}

Mkn singleShapeOf(const Problem& problem, const TilingPlan& plan) {
  if (plan.pass == Pass::kY) return singleShapeOf(adjointOf(problem), asData(plan));
  if (plan.is<CubePlan>()) return plan.as<CubePlan>().singleShape;
  return algorithmOf(plan)->singleShape(coreProblem(problem, plan), plan);
}

namespace {

// Families of candidates meet where an extent leaves them no choice: each plan is shown once.
void dropRepeated(std::vector<Candidate>& candidates) {
  std::set<std::vector<std::int64_t>> seen;
  const auto repeated = [&](const Candidate& c) {
    std::vector<std::int64_t> decisions{static_cast<std::int64_t>(c.plan.algorithm.index())};
    describePlan(c.plan,
                 [&](const char*, const auto& field) { decisions.push_back(static_cast<std::int64_t>(field)); });
    return !seen.insert(std::move(decisions)).second;
  };
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), repeated), candidates.end());
}

// What is too much work for one plan is no reason to give up the others.
template <class Work>
std::vector<std::string> brokenLimit(const Work& work) {
  try {
    work();
  } catch (const WorkLimitError& e) {
    return {e.what()};
  }
  return {};
}

// All plans that algorithms propose, best first in `legal`.
struct Search {
  const Problem& asked;
  const Machine& machine;
  bool explain;
  WeightsUse weights;
  std::vector<Candidate> legal, refused;  // without `explain` the best so far is enough

  void consider(const Algorithm& algorithm, Pass pass, Candidates candidates) {
    const Reorders& reorders = candidates.reorders;
    const Problem core = coreProblem(asked, pass, reorders);
    const bool kept = weights == WeightsUse::kKept && pass == Pass::kDx;
    double conversions = reorderCycles(asked, pass, reorders, machine);
    if (kept && reorders.w) conversions -= reorderCycles(asked, TensorId::kW, reorders, machine);
    const double packingCores = kept && runsOnOneCore(makeConvView(core, pass), machine) ? 1 : machine.cores;
    for (TilingPlan& plan : candidates.plans) {
      if (kept && !algorithm.packsBeforehand(plan)) continue;
      Candidate candidate;
      candidate.refusedBy = checkPlan(asked, plan, machine);
      if (candidate.refusedBy.empty())
        candidate.refusedBy = brokenLimit([&] { candidate.cost = algorithm.cost(core, plan, machine); });
      const bool allowed = candidate.refusedBy.empty();
      if (!allowed && !explain && !legal.empty()) continue;
      if (allowed) {
        if (kept) {
          candidate.cost.moveCycles -= candidate.cost.packCycles;
          candidate.cost.totalCycles -= candidate.cost.packCycles / packingCores;
        }
        candidate.cost.moveCycles += conversions;
        candidate.cost.totalCycles += conversions / machine.cores;
        if (!explain && !legal.empty()) {
          if (candidate.cost.totalCycles >= legal.front().cost.totalCycles) continue;
          legal.clear();
        }
      }
      if (allowed) algorithm.settle(core, plan, candidate.cost, machine);
      candidate.plan = plan;
      (allowed ? legal : refused).push_back(std::move(candidate));
    }
  }
};

// Plans that read operands which were rounded to bf16: those that the algorithm has for a problem of bf16, whose operands lie as copies do.
// Without dot products they are no faster.
std::vector<Candidates> roundingCandidates(const Algorithm& algorithm, const Problem& problem, Pass pass,
                                           const Machine& machine) {
  const std::optional<Reorders> rounding = roundingReorders(problem, pass);
  if (!rounding || !machine.isa.bf16Dot) return {};
  Problem rounded = coreProblem(problem, pass, *rounding);
  rounded.math = MathMode::kStrict;  // other sums are of f32
  const PassTensors tensors = tensorsOf(pass);
  std::vector<Candidates> out;
  for (Candidates& candidates : algorithm.candidates(rounded, machine)) {
    bool widens = false;
    for (std::size_t i = 0; i + 1 < tensors.count; ++i) {
      const TensorId t = tensors.ids[i];
      widens |= isReordered(candidates.reorders, t) && stagedType(rounded, t, candidates.reorders) != DType::kBf16;
      if (isReordered(*rounding, t)) setReordered(candidates.reorders, t);
    }
    if (widens) continue;
    candidates.reorders.toBf16 = true;
    for (TilingPlan& plan : candidates.plans) plan.reorders = candidates.reorders;
    out.push_back(std::move(candidates));
  }
  return out;
}

// Among plans that cost the same those win that leave a tensor as it is, then those that an algorithm names first, then those of the
// algorithm that the table names first.
std::vector<std::pair<const Algorithm*, Candidates>> inOrderOfPreference(const Problem& problem, Pass pass,
                                                                         const Machine& machine) {
  struct Group {
    bool reordersAll;
    std::size_t place;
    const Algorithm* algorithm;
    Candidates plans;
  };
  std::vector<Group> groups;
  const Reorders all = reordersToCore(problem, pass);
  for (const Algorithm* algorithm : algorithms()) {
    if (algorithm->pass != pass) continue;
    std::size_t fewer = 0, most = 0;
    for (Candidates& plans : algorithm->candidates(problem, machine)) {
      const bool reordersAll = plans.reorders == all;
      groups.push_back({reordersAll, reordersAll ? most++ : fewer++, algorithm, std::move(plans)});
    }
    for (Candidates& plans : roundingCandidates(*algorithm, problem, pass, machine))
      groups.push_back({true, most++, algorithm, std::move(plans)});
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::pair(a.reordersAll, a.place) < std::pair(b.reordersAll, b.place);
  });
  std::vector<std::pair<const Algorithm*, Candidates>> out;
  for (Group& group : groups) out.emplace_back(group.algorithm, std::move(group.plans));
  return out;
}

Result<PlanChoice> chooseForward(const Problem& problem, const Machine& machine, bool explain, WeightsUse weights,
                                 const std::string& algorithm) {
  auto choice = choosePlan(adjointOf(problem), Pass::kDx, machine, explain, weights, algorithm);
  if (!choice.ok()) return inForwardWords(choice.error());
  choice->plan = asForward(choice->plan);
  for (Candidate& candidate : choice->considered) {
    candidate.plan = asForward(candidate.plan);
    candidate.refusedBy = inForwardWords(std::move(candidate.refusedBy));
  }
  return choice;
}

Result<PlanChoice> chooseBackward(const Problem& problem, Pass pass, const Machine& machine, bool explain,
                                  WeightsUse weights, const std::string& algorithm) {
  if (pass != Pass::kDb) limitWork(static_cast<double>(problem.kernel.volume()), kMostTaps, "positions of the kernel");
  Search search{problem, machine, explain, weights, {}, {}};
  for (auto& [candidate, plans] : inOrderOfPreference(problem, pass, machine)) {
    const bool asked = algorithm.empty() || pass == Pass::kDb || algorithm == candidate->name;
    if (asked) search.consider(*candidate, pass, std::move(plans));
  }
  auto& legal = search.legal;
  auto& refused = search.refused;
  PlanChoice choice;
  if (legal.empty()) return noPlan(problem, pass, refused, machine, algorithm);
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

}  // namespace

Result<PlanChoice> choosePlan(const Problem& problem, Pass pass, const Machine& machine, bool explain,
                              WeightsUse weights, const std::string& algorithm) {
  return withoutThrowing(Stage::kPlan, [&]() -> Result<PlanChoice> {
    if (machine.isEmulated())
      return pass == Pass::kDb ? chooseBiasPlan(problem, machine) : chooseNpuPlan(problem, pass, machine, explain);
    if (pass == Pass::kY) return chooseForward(problem, machine, explain, weights, algorithm);
    return chooseBackward(problem, pass, machine, explain, weights, algorithm);
  });
}

}  // namespace cubejit
