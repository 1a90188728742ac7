// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what GetTiling does: the request's rules, the planner, the tiling's fields. A failure writes nothing.
#include <exception>

#include "api/ascendc/request_rules.h"
#include "api/ascendc/tiling_values.h"
#include "cubejit/npu.h"
#include "cubejit_ascendc/chip.h"
#include "cubejit_ascendc/last_error.h"
#include "cubejit_ascendc/tiling_request.h"
#include "tiling/npu/cube_footprint.h"
#include "tiling/npu/rule_lines.h"

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

}  // namespace

std::int64_t fillInputTiling(const TilingRequest& asked, AscendC::tiling::TConv3DBackpropInputTiling& out) noexcept {
  return guarded([&]() -> std::int64_t {
    if (!asked.machine.isNpu()) return refuse({noChip()});
    TilingRequest r = asked;
    const std::vector<std::string> broken = inputRules(r);
    if (!broken.empty()) return refuse(broken);
    const Problem p = plannedProblem(r, r.gradOutput.dtype);
    NpuPlanOptions options;
    options.ascendKernels = true;
    const auto report = planOnNpu(p, Gradient::kDx, r.machine, options);
    if (!report.ok()) return refuse({report.error().message});
    AscendC::tiling::TConv3DBackpropInputTiling t;
    const Problem stated = problemOf(r);
    setProblemFields(t, stated, report->plan.cube().tile.operand);
    setPlanFields(t, report->plan);
    t.initOutputFlag = initOutputFlagOf(stated, r.transpose);
    out = t;
    return 0;
  });
}

std::int64_t fillFilterTiling(const TilingRequest& r, AscendC::tiling::Conv3DBackpropFilterTilingData& out) noexcept {
  return guarded([&]() -> std::int64_t {
    if (!r.machine.isNpu()) return refuse({noChip()});
    const std::vector<std::string> broken = filterRules(r);
    if (!broken.empty()) return refuse(broken);
    const Problem p = plannedProblem(r, r.gradOutput.dtype);
    NpuPlanOptions options;
    options.ascendKernels = true;
    options.trustExtents = true;  // the documented class plans for extents that do not follow from one another
    const auto report = planOnNpu(p, Gradient::kDw, r.machine, options);
    if (!report.ok()) return refuse({report.error().message});
    const TilingPlan& plan = report->plan;
    AscendC::tiling::Conv3DBackpropFilterTilingData t;
    setProblemFields(t.dwTiling, problemOf(r), plan.cube().tile.operand);
    setPlanFields(t.dwTiling, plan);
    const CubeWork work = cubeWorkOf(p, Gradient::kDw, r.machine, true);
    t.dwTiling.bl1Bound = static_cast<std::uint32_t>(footprintOf(work, plan).l1B / work.elementBytes);
    t.params.totalL1Size = static_cast<std::uint32_t>(r.machine.buffers.l1Bytes);
    t.basicBlockTiling = {static_cast<std::uint32_t>(plan.cube().singleShape.m),
                          static_cast<std::uint32_t>(plan.cube().singleShape.n),
                          static_cast<std::uint32_t>(plan.cube().singleShape.k)};
    out = t;
    return 0;
  });
}

}  // namespace cubejit::ascendc
