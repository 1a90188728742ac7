// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which problems, plans and machines go together.
#include "algorithms/cube/job.h"

#include <algorithm>

#include "algorithms/cube/rules.h"
#include "algorithms/kit/adjoint.h"
#include "cubejit/npu.h"
#include "tiling/rounding.h"
#include "tiling/rule_lines.h"

namespace cubejit {

Result<CubeJob> makeCubeJob(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                            CubeKernels kernels) {
  const bool forward = plan.pass == Pass::kY;
  TilingPlan checked = forward ? asData(plan) : plan;
  const auto refuse = [](const std::vector<std::string>& rules) { return invalidInput(inLines(rules), Stage::kPlan); };
  // Rules of the problem and the chip come first: the matrix view needs them kept.
  TilingPlan none;  // of the host
  none.pass = plan.pass;
  const std::vector<std::string> before = checkOnNpu(problem, none, machine, kernels);
  if (before.size() != 1 || before.front().rfind("algorithm = ", 0) != 0) return refuse(before);
  const Problem solved = forward ? adjointOf(problem) : problem;
  CubeJob job{solved, checked, machine, cubeWorkOf(solved, checked.pass, machine, kernels)};
  const MatrixProduct& step = *machine.npu.cube.product(job.work.type);
  if (!(step.shape == Mkn{16, job.work.c0, 16}))
    return refuse({std::string("the cube's fractal of ") + toString(step.operand) + " is " +
                   std::to_string(step.shape.m) + " x " + std::to_string(step.shape.k) + " x " +
                   std::to_string(step.shape.n) + "; units are emulated for 16 x " + std::to_string(job.work.c0) +
                   " x 16 only"});
  if (checked.is<CubePlan>() && checked.cube().singleShape.m > 0 && checked.cube().singleShape.k > 0 &&
      checked.cube().singleShape.n > 0)
    checked.cube().cores = splitOf(job.work, checked.cube().singleShape);
  const std::vector<std::string> broken = checkCubePlan(job.work, checked, machine);
  if (!broken.empty()) return refuse(broken);
  return job;
}

ChannelRange channelsOf(const CubeJob& job, bool big, std::int64_t realGroup) {
  const Problem& p = job.problem;
  const std::int64_t total = big != p.transposed ? p.cin : p.cout;
  ChannelRange r;
  r.ofGroup = total / p.groups;
  const std::int64_t real = job.work.groups.together * r.ofGroup;
  r.first = realGroup * real;
  r.count = std::clamp<std::int64_t>(total - r.first, 0, real);
  return r;
}

std::int64_t storedChannels(const IndexMap& map, const ChannelRange& range) {
  const std::int64_t end = range.first + range.count;
  if (end < map.extent[1]) return range.count;  // behind them are those of the next real group
  for (const Digit& d : map.digits[1]) {
    if (d.unit == 1 && d.extent > 1 && d.stride == 1 && map.padded) return roundUp(end, d.extent) - range.first;
  }
  return range.count;
}

}  // namespace cubejit
