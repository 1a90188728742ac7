// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what GetTiling does: the request's rules, where its plan comes from, the tiling's fields. A failure writes nothing.
#include <exception>

#include "algorithms/cube/footprint.h"
#include "api/ascendc/request_rules.h"
#include "api/ascendc/tiling_values.h"
#include "cubejit/npu.h"
#include "cubejit_ascendc/chip.h"
#include "cubejit_ascendc/last_error.h"
#include "cubejit_ascendc/tiling_request.h"
#include "runtime/tuning/plan_source.h"
#include "tiling/check_problem.h"
#include "tiling/rule_lines.h"

namespace cubejit::ascendc {
namespace {

std::int64_t refuse(const std::vector<std::string>& rules) {
  setLastError(inLines(rules));
  return -1;
}

// Runs `body`, which returns 0 or -1; what it throws becomes -1.
template <class Body>
std::int64_t guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& e) {
    setLastError(e.what());
  } catch (...) {
    setLastError("unknown failure");
  }
  return -1;
}

// Why a request has no chip to plan for.
std::string noChip() {
  const auto usual = chipOf("");
  return usual.ok() ? "the platform is of no chip; name one of `cubejit targets` where it is made, or in CUBEJIT_SOC"
                    : usual.error().message;
}

// A kernel of one tap is not dilated, so its dilation is no one's limit.
Problem plannedProblem(const TilingRequest& r, ConvCommonApi::ConvDtype dtype) {
  Problem p = problemOf(r);
  dtypeOf(dtype, r.hf32, p.dtype);
  for (int a = 0; a < 3; ++a) {
    if (p.kernel[a] == 1) p.dilation[a] = 1;
  }
  return p;
}

CubeKernels kernelsOf(const TilingRequest& r) { return r.forChip ? CubeKernels::kVendor : CubeKernels::kAscendC; }

// Every rule of a plan that was not made for this request.
std::vector<std::string> brokenBy(const TilingRequest& r, const Problem& p, const TilingPlan& plan) {
  return checkOnNpu(p, plan, r.machine, kernelsOf(r));
}

// Chosen tilings of dX have the documented iterateOrder; a plan of the caller's may have the other.
constexpr BlockOrder kInputOrder = BlockOrder::kNOuter;

std::vector<std::string> brokenByKept(const TilingRequest& r, const Problem& p, const TilingPlan& plan) {
  std::vector<std::string> broken = brokenBy(r, p, plan);
  if (broken.empty() && plan.pass == Pass::kDx && plan.cube().tile.order != kInputOrder)
    broken.push_back("iterateOrder = 0 must be 1 for dx");
  return broken;
}

Result<SourcedPlan> planFor(const TilingRequest& r, const Problem& p, Pass pass) {
  if (r.plan) {
    if (r.plan->pass != pass)
      return invalidInput(std::string("pass = ") + toString(r.plan->pass) + " of the plan must be " + toString(pass),
                          Stage::kPlan);
    const std::vector<std::string> broken = brokenBy(r, p, *r.plan);
    if (!broken.empty()) return invalidInput(inLines(broken), Stage::kPlan);
    return SourcedPlan{r.plan, PlanSource::kCaller, {}};
  }
  CUBEJIT_TRY(options, optionsFromEnvironment());
  if (options.tune != TuneMode::kOff) options.tune = TuneMode::kUse;
  options.tuneFor = TuneGoal::kCycles;
  options.algorithm.clear();
  // Extents that do not follow from one another have been tuned for by nobody.
  SourcedPlan kept;
  if (checkProblem(p).ok()) {
    CUBEJIT_TRY(found, findKeptPlan(p, pass, r.machine, options,
                                    [&](const TilingPlan& plan) { return brokenByKept(r, p, plan); }));
    kept = found;
  }
  if (kept.plan) return kept;
  NpuPlanOptions asked;
  asked.kernels = kernelsOf(r);
  if (pass == Pass::kDx) asked.order = kInputOrder;
  asked.trustExtents = pass == Pass::kDw;  // the documented class plans for extents that do not follow
  CUBEJIT_TRY(report, planOnNpu(p, pass, r.machine, asked));
  kept.plan = report.plan;
  return kept;
}

void tell(const SourcedPlan& plan, std::string* source) {
  if (source != nullptr) *source = toString(plan.source) + (plan.note.empty() ? "" : ": " + plan.note);
}

}  // namespace

std::int64_t fillInputTiling(const TilingRequest& asked, AscendC::tiling::TConv3DBackpropInputTiling& out,
                             std::string* source) noexcept {
  return guarded([&]() -> std::int64_t {
    if (!asked.machine.isEmulated()) return refuse({noChip()});
    TilingRequest r = asked;
    const std::vector<std::string> broken = inputRules(r);
    if (!broken.empty()) return refuse(broken);
    const auto found = planFor(r, plannedProblem(r, r.gradOutput.dtype), Pass::kDx);
    if (!found.ok()) return refuse({found.error().message});
    AscendC::tiling::TConv3DBackpropInputTiling t;
    const Problem stated = problemOf(r);
    setProblemFields(t, stated, found->plan->cube().tile.operand);
    setPlanFields(t, *found->plan);
    if (r.forChip) {
      t.singleCoreCin = t.baseN;
      t.singleCoreCin1 = static_cast<std::uint32_t>(ceilDiv(t.baseN, t.c0));
    }
    t.initOutputFlag = initOutputFlagOf(stated, r.transpose);
    tell(*found, source);
    out = t;
    return 0;
  });
}

std::int64_t fillFilterTiling(const TilingRequest& r, AscendC::tiling::Conv3DBackpropFilterTilingData& out,
                              std::string* source) noexcept {
  return guarded([&]() -> std::int64_t {
    if (!r.machine.isEmulated()) return refuse({noChip()});
    const std::vector<std::string> broken = filterRules(r);
    if (!broken.empty()) return refuse(broken);
    const Problem p = plannedProblem(r, r.gradOutput.dtype);
    const auto found = planFor(r, p, Pass::kDw);
    if (!found.ok()) return refuse({found.error().message});
    AscendC::tiling::TConv3DBpFilterTiling t;
    setProblemFields(t, problemOf(r), found->plan->cube().tile.operand);
    setPlanFields(t, *found->plan);
    const CubeWork work = cubeWorkOf(p, Pass::kDw, r.machine, kernelsOf(r));
    t.bl1Bound = static_cast<std::uint32_t>(footprintOf(work, *found->plan).l1B / work.elementBytes);
    tell(*found, source);
    out = filterDataOf(t, r.machine);
    return 0;
  });
}

AscendC::tiling::Conv3DBackpropFilterTilingData filterDataOf(const AscendC::tiling::TConv3DBpFilterTiling& t,
                                                             const Machine& machine) {
  AscendC::tiling::Conv3DBackpropFilterTilingData data;
  data.params.totalL1Size = static_cast<std::uint32_t>(machine.buffers.l1Bytes);
  data.dwTiling = t;
  data.basicBlockTiling = {t.singleCoreCout, static_cast<std::uint32_t>(t.singleCoreCin) * t.hk * t.wk,
                           t.singleCoreHo * t.wo};
  return data;
}

}  // namespace cubejit::ascendc
