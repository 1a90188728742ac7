// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by cycles which conversions passes share, of those that one of them would make anyway.
#include "runtime/pipeline/plan_call.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "algorithms/kit/reorder.h"
#include "algorithms/lower.h"
#include "algorithms/transforms/convert.h"
#include "algorithms/transforms/eltwise_backward.h"
#include "codegen/tile/workspace.h"
#include "cubejit/index_map.h"
#include "runtime/host/threads.h"

namespace cubejit {
namespace {

Result<TilingPlan> givenPlan(const CompileRequest& request, const TilingPlan& given, const Machine& machine,
                             const Options& options) {
  const std::vector<std::string> broken = checkPlan(request.problem, given, machine);
  if (broken.empty()) {
    CUBEJIT_RETURN_IF_ERROR(fitsMemLimit(request.problem, given, machine, options));
    return given;
  }
  std::string message = std::string("the plan given for ") + toString(given.pass) + " is not legal:";
  for (const std::string& rule : broken) message += "\n" + rule;
  return Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan, message};
}

std::int64_t sharedBytesOf(const CompileRequest& request, const CallPlan& call) {
  CallWorkspace workspace;
  if (readSlope(request.problem, request.passes)) workspace.keep(formatBytes(request.problem, TensorId::kDy));
  for (const TensorId t : call.converted) workspace.keep(formatBytes(call.problem, t));
  return workspace.keptBytes();
}

// Passes one after the other.
Interleaving apart(const std::vector<TilingPlan>& plans) {
  return Interleaving{{}, plans, std::vector<bool>(plans.size(), false)};
}

Result<std::int64_t> callBytes(const CompileRequest& request, const CallPlan& call, const Machine& machine,
                               const Options& options) {
  CUBEJIT_TRY(lowered, lowerCall(request, call, machine));
  return workspaceOf(lowered).on(threadsOf(options));
}

// Plans with what they cost; those of passes that do not see a conversion stay when one is tried.
class CallPlanner {
 public:
  CallPlanner(const CompileRequest& request, const Machine& machine, const Options& options)
      : request_(request), machine_(machine), options_(options) {}

  Result<CallPlan> run() {
    Trial best{{request_.problem, {}, {}, 0, {}}, {}};
    CUBEJIT_RETURN_IF_ERROR(plan(best, [](Pass) { return true; }));
    if (request_.plans.empty() && !machine_.isEmulated() && !options_.batchInvariant) {
      const std::vector<TilingPlan> apart = best.call.plans;
      for (const TensorId t : {TensorId::kDy, TensorId::kX, TensorId::kW}) {
        if (mayConvert(t, apart)) tryConverting(t, best);
      }
    }
    return std::move(best.call);
  }

 private:
  struct Trial {
    CallPlan call;
    std::vector<double> cycles;  ///< of each plan
  };

  // Passes share a conversion that one of them would make anyway: those that take the tensor as it is pack it in passing, which costs less than
  // another copy of it in memory. Kept weights are packed from what the caller has, and dy times a slope is a copy already.
  bool mayConvert(TensorId t, const std::vector<TilingPlan>& apart) const {
    const auto readsIt = [&](const TilingPlan& plan) { return reads(plan.pass, t); };
    if (std::count_if(apart.begin(), apart.end(), readsIt) < 2) return false;
    if (t == TensorId::kW && request_.weights == WeightsUse::kKept) return false;
    if (t == TensorId::kDy && readSlope(request_.problem, request_.passes)) return false;
    // Products read a rounded copy, db does not.
    if (t == TensorId::kDy && request_.passes.db && isHf32(formatOf(request_.problem, t).dtype)) return false;
    return std::any_of(apart.begin(), apart.end(),
                       [&](const TilingPlan& plan) { return readsIt(plan) && isReordered(plan.reorders, t); });
  }

  void tryConverting(TensorId t, Trial& best) const {
    Trial trial = best;
    TensorFormat copy = coreFormat(request_.problem, t);
    // Rounded for products, which db does not have.
    const auto rounds = [&](const TilingPlan& plan) { return reads(plan.pass, t) && plan.reorders.toBf16; };
    const bool reduces = t == TensorId::kDy && request_.passes.db;
    if (!reduces && std::any_of(best.call.plans.begin(), best.call.plans.end(), rounds)) copy.dtype = DType::kBf16;
    trial.call.problem.formats[static_cast<std::size_t>(t)] = copy;
    trial.call.converted.push_back(t);
    if (!plan(trial, [&](Pass g) { return reads(g, t); }).ok()) return;
    trial.call.predictedCycles += conversionCycles(request_.problem, t, copy.dtype, machine_) / machine_.cores;
    if (trial.call.predictedCycles >= best.call.predictedCycles) return;
    if (options_.memLimit > 0) {  // conversions need panels, too
      trial.call.interleaving = apart(trial.call.plans);
      const auto bytes = callBytes(request_, trial.call, machine_, options_);
      if (!bytes.ok() || *bytes > options_.memLimit) return;
    }
    best = std::move(trial);
  }

  // Plans the passes for which again(pass) holds; the others are planned.
  template <class Again>
  Status plan(Trial& trial, const Again& again) const {
    CallPlan& call = trial.call;
    const std::int64_t kept = sharedBytesOf(request_, call);
    const std::vector<TilingPlan> plans = std::exchange(call.plans, {});
    const std::vector<double> cycles = std::exchange(trial.cycles, {});
    double all = 0;
    for (const double c : cycles) all -= c;
    for (const Pass pass : kPasses) {
      if (!request_.passes.has(pass)) continue;
      const std::size_t i = call.plans.size();
      const auto given = std::find_if(request_.plans.begin(), request_.plans.end(),
                                      [&](const TilingPlan& p) { return p.pass == pass; });
      if (given != request_.plans.end()) {
        CUBEJIT_TRY(legal, givenPlan(request_, *given, machine_, options_));
        call.plans.push_back(legal);
        trial.cycles.push_back(0);
      } else if (again(pass)) {
        CUBEJIT_TRY(choice, choose(call.problem, pass, kept));
        call.plans.push_back(choice.plan);
        trial.cycles.push_back(choice.cost.totalCycles);
      } else {
        call.plans.push_back(plans[i]);
        trial.cycles.push_back(cycles[i]);
      }
      all += trial.cycles.back();
    }
    call.predictedCycles += all;
    return Unit{};
  }

  Result<PlanChoice> choose(const Problem& problem, Pass pass, std::int64_t kept) const {
    const bool ofImages = pass == Pass::kY || pass == Pass::kDx;
    if (!options_.batchInvariant || !ofImages || machine_.isEmulated())
      return choosePlanWithin(problem, pass, machine_, false, request_.weights, options_, kept);
    Problem image = problem;
    image.batch = std::min<std::int64_t>(1, problem.batch);
    Options unlimited = options_;
    unlimited.memLimit = 0;
    CUBEJIT_TRY(choice, choosePlanWithin(image, pass, machine_, false, request_.weights, unlimited, 0));
    CUBEJIT_TRY(plan, givenPlan(request_, choice.plan, machine_, options_));
    choice.cost = planCost(problem, plan, machine_);
    return choice;
  }

  const CompileRequest& request_;
  const Machine& machine_;
  const Options& options_;
};

}  // namespace

CallWorkspace workspaceOf(const LoweredCall& call) {
  CallWorkspace workspace;
  for (const SharedTensorProgram& shared : call.shared) {
    workspace.keep(shared.bytes);
    workspace.add(shared.tile);
  }
  std::vector<const TileProgram*> tiles;
  for (const TileProgram& tile : call.tiles) tiles.push_back(&tile);
  workspace.add(tiles, call.together);
  return workspace;
}

Status fitsMemLimit(const Problem& problem, const TilingPlan& plan, const Machine& machine, const Options& options) {
  if (options.memLimit <= 0) return Unit{};
  CUBEJIT_TRY(bytes, workspaceBytes(problem, plan, machine, options));
  if (bytes <= options.memLimit) return Unit{};
  return overLimit(std::string("the plan of ") + toString(plan.pass), bytes, options);
}

Result<CallPlan> planCall(const CompileRequest& request, const Machine& machine, const Options& options) {
  if (readSlope(request.problem, request.passes)) {
    if (machine.isEmulated())
      return Error{
          ErrorCode::kUnsupported, Stage::kPlan,
          "post_ops = " + toString(request.problem.postOps) +
              ": emulated chips compute gradients of the sums of y alone; leave the post-ops out, and multiply "
              "dy by the slope"};
    CUBEJIT_RETURN_IF_ERROR(slopeApplies(request.problem));
  }
  if (options.memLimit > 0 && machine.isEmulated())
    return Error{ErrorCode::kUnsupported, Stage::kPlan,
                 "a limit of workspace is for this host's plans; those of " + machine.name +
                     " take what its buffers hold; leave out Options::memLimit, --mem-limit, CUBEJIT_MEM_LIMIT"};
  const auto planned = [&](const Options& within) -> Result<CallPlan> {
    CUBEJIT_TRY(call, CallPlanner(request, machine, within).run());
    CUBEJIT_TRY(interleaving,
                planInterleaving(call.problem, call.plans, request.plans.empty() && !within.batchInvariant, machine));
    call.interleaving = std::move(interleaving);
    return call;
  };
  Options unlimited = options;
  unlimited.memLimit = 0;
  CUBEJIT_TRY(fastest, planned(unlimited));
  if (options.memLimit <= 0) return fastest;
  CUBEJIT_TRY(bytes, callBytes(request, fastest, machine, options));
  if (bytes <= options.memLimit) return fastest;
  CUBEJIT_TRY(call, planned(options));
  CUBEJIT_TRY(less, callBytes(request, call, machine, options));
  if (less <= options.memLimit) return call;
  call.interleaving = apart(call.plans);  // passes that go by turns take the sum of what each takes
  CUBEJIT_TRY(least, callBytes(request, call, machine, options));
  if (least > options.memLimit) return overLimit("the call", least, options);
  return call;
}

Result<LoweredCall> lowerCall(const CompileRequest& request, const CallPlan& plan, const Machine& machine) {
  LoweredCall out;
  const auto share = [&](const Problem& after, TensorId t, TileProgram tile) {
    out.shared.push_back({t, formatBytes(after, t), std::move(tile)});
  };
  for (const TensorId t : plan.converted) {
    share(plan.problem, t, conversionProgram(request.problem, plan.problem, t, machine.isa.lanes()));
  }
  if (readSlope(request.problem, request.passes))
    share(request.problem, TensorId::kDy, eltwiseBackwardProgram(request.problem, machine.isa.lanes()));
  CUBEJIT_TRY(tiles, lowerEach(plan.problem, plan.interleaving.plans, machine));
  out.together = interleave(tiles, plan.interleaving);
  out.tiles = std::move(tiles);
  return out;
}

}  // namespace cubejit
