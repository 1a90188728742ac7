// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order of planning for an NPU: the problem's rules, the chip's, then the search or the check.
#include "cubejit/npu.h"

#include "algorithms/cube/report.h"
#include "algorithms/cube/rules.h"
#include "algorithms/kit/adjoint.h"
#include "cubejit/machines.h"
#include "tiling/check_problem.h"
#include "tiling/no_throw.h"
#include "tiling/rule_lines.h"

namespace cubejit {
namespace {

constexpr const char* kVendorKernels = "Atlas A2 and A3";  // CubeKernels::kVendor

Error joined(ErrorCode code, const std::vector<std::string>& rules) {
  return Error{code, Stage::kPlan, inLines(rules)};
}

// What is wrong before any plan: with the machine, the problem, or the two together.
Status checkBefore(const Problem& problem, Pass pass, const Machine& machine, CubeKernels kernels,
                   bool trustExtents = false) {
  if (!machine.isEmulated())
    return joined(ErrorCode::kUnsupported, {machine.name + " has no cube; plan on it with a Session"});
  const std::vector<std::string> broken = checkMachine(machine);
  if (!broken.empty()) return joined(ErrorCode::kInvalidProblem, broken);
  const Status legal = trustExtents ? Status(Unit{}) : checkProblem(seenBy(problem, maskOf(pass)));
  if (!legal.ok()) return legal.error();
  std::vector<std::string> limits = checkChip(problem, pass, machine);
  if (kernels == CubeKernels::kVendor) {
    if (problem.groups != 1)
      limits.push_back("groups = " + std::to_string(problem.groups) + " must be 1: the vendor's tilings have no other");
    if (machine.npu.product != kVendorKernels)
      limits.push_back("soc = " + machine.name + " must be one of " + kVendorKernels +
                       ", for which the kernel classes are documented");
  }
  if (!limits.empty()) return joined(ErrorCode::kUnsupported, limits);
  return Unit{};
}

// A report of the adjoint's dx as one of y.
Result<NpuReport> asForward(Result<NpuReport> report) {
  if (!report.ok()) return inForwardWords(report.error());
  report->plan = asForward(report->plan);
  for (NpuCandidate& candidate : report->candidates) candidate.plan = asForward(candidate.plan);
  report->refusedBy = inForwardWords(std::move(report->refusedBy));
  return report;
}

// The three questions of a pass that chips compute. Extents of an adjoint need not follow from one another the other way round: who asks of one
// has checked the convolution, and trusts them.
Result<NpuReport> planned(const Problem& problem, Pass pass, const Machine& machine, const NpuPlanOptions& options) {
  CUBEJIT_RETURN_IF_ERROR(checkBefore(problem, pass, machine, options.kernels, options.trustExtents));
  const CubeWork work = cubeWorkOf(problem, pass, machine, options.kernels);
  CUBEJIT_TRY(choice, chooseCubePlan(work, machine, options.explain, CubeFixed{options.singleShape, options.order}));
  NpuReport report = reportOf(problem, work, choice.plan, choice.cost, machine);
  report.legal = choice.legal;
  report.refused = choice.refused;
  if (!options.explain) return report;
  for (const CubeCandidate& c : choice.best)
    report.candidates.push_back({c.plan, c.cost.totalCycles, c.cost.slowestCore, boundOf(c.cost)});
  report.refusedBy = choice.refusedBy;
  report.better = whatWouldHelp(problem, work, report, machine);
  return report;
}

std::vector<std::string> broken(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                CubeKernels kernels, bool trustExtents) {
  const Status before = checkBefore(problem, plan.pass, machine, kernels, trustExtents);
  if (!before.ok()) return {before.error().message};
  return checkCubePlan(cubeWorkOf(problem, plan.pass, machine, kernels), plan, machine);
}

Result<NpuReport> reported(const Problem& problem, const TilingPlan& plan, const Machine& machine, CubeKernels kernels,
                           bool trustExtents) {
  const std::vector<std::string> rules = broken(problem, plan, machine, kernels, trustExtents);
  if (!rules.empty()) return joined(ErrorCode::kInvalidProblem, rules);
  const CubeWork work = cubeWorkOf(problem, plan.pass, machine, kernels);
  return reportOf(problem, work, plan, cubeCost(work, plan, machine), machine);
}

// Chips' programs of y end with its sums.
Status withoutPostOps(const Problem& problem) {
  CUBEJIT_TRY(legal, checkProblem(seenBy(problem, maskOf(Pass::kY))));
  if (!problem.postOps.any()) return legal;
  return Error{ErrorCode::kUnsupported, Stage::kPlan,
               "post_ops = " + toString(problem.postOps) +
                   ": emulated chips compute the sums of y alone; leave the post-ops out, and apply them to y"};
}

}  // namespace

Result<NpuReport> planOnNpu(const Problem& problem, Pass pass, const Machine& machine, const NpuPlanOptions& options) {
  return withoutThrowing(Stage::kPlan, [&]() -> Result<NpuReport> {
    if (pass != Pass::kY) return planned(problem, pass, machine, options);
    const Status legal = options.trustExtents ? Status(Unit{}) : withoutPostOps(problem);
    if (!legal.ok()) return legal.error();
    NpuPlanOptions trusting = options;
    trusting.trustExtents = true;
    return asForward(planned(adjointOf(problem), Pass::kDx, machine, trusting));
  });
}

std::vector<std::string> checkOnNpu(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                    CubeKernels kernels) {
  if (plan.pass != Pass::kY) return broken(problem, plan, machine, kernels, false);
  const Status legal = withoutPostOps(problem);
  if (!legal.ok()) return {legal.error().message};
  return inForwardWords(broken(adjointOf(problem), asData(plan), machine, kernels, true));
}

Result<NpuReport> reportOnNpu(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                              CubeKernels kernels) {
  return withoutThrowing(Stage::kPlan, [&]() -> Result<NpuReport> {
    if (plan.pass != Pass::kY) return reported(problem, plan, machine, kernels, false);
    CUBEJIT_RETURN_IF_ERROR(withoutPostOps(problem));
    return asForward(reported(adjointOf(problem), asData(plan), machine, kernels, true));
  });
}

}  // namespace cubejit
