// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the report on a plan. "What would help" is measured, not guessed: the planner is asked about machines that differ in
// one number.
#include "algorithms/cube/report.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace cubejit {
namespace {

std::string percent(double share) { return std::to_string(static_cast<int>(std::lround(100 * share))) + " %"; }

// Changes of a machine by a factor of two, each with the words for it.
struct WhatIf {
  const char* what;
  std::function<void(Machine&)> change;
};

std::vector<WhatIf> whatIfs() {
  return {
      {"twice the L0A and L0B", [](Machine& m) { m.buffers.l0aBytes *= 2, m.buffers.l0bBytes *= 2; }},
      {"twice the L0C", [](Machine& m) { m.buffers.l0cBytes *= 2; }},
      {"twice the L1", [](Machine& m) { m.buffers.l1Bytes *= 2; }},
      {"twice the rate from L1 to L0A and L0B", [](Machine& m) { m.npu.paths.l1ToL0a *= 2, m.npu.paths.l1ToL0b *= 2; }},
      {"twice the rate from L2 to L1", [](Machine& m) { m.npu.paths.l2Read *= 2; }},
      {"twice the rate out of L0C",
       [](Machine& m) { m.npu.paths.l0cToUb *= 2, m.npu.paths.l2Write *= 2, m.npu.paths.ubToL2 *= 2; }},
      {"twice the memory's rate", [](Machine& m) { m.npu.paths.ddrRead *= 2, m.npu.paths.ddrWrite *= 2; }},
      {"twice the cores", [](Machine& m) { m.cores *= 2, m.npu.paths.ddrRead /= 2, m.npu.paths.ddrWrite /= 2; }}};
}

void zeros(const Problem& p, const CubeWork& w, const NpuReport& report, std::vector<std::string>& out) {
  if (report.usefulShare > 0.9) return;
  const std::string idle =
      percent(1 - std::min(1.0, report.usefulShare)) + " of the cube's products are zeros or padding";
  std::string why;
  const auto because = [&](const std::string& text) { why += (why.empty() ? "" : "; ") + text; };
  if (w.spread && p.stride.h * p.stride.w > 1)
    because("dy is spread by stride " + std::to_string(p.stride.h) + " x " + std::to_string(p.stride.w));
  const std::int64_t blocks = w.c0;
  for (const auto& [name, channels] : {std::pair<const char*, std::int64_t>{"cin", p.cin}, {"cout", p.cout}}) {
    if (p.groups == 1 && channels % blocks != 0)
      because(std::string(name) + " = " + std::to_string(channels) + " fills " +
              percent(static_cast<double>(channels) / static_cast<double>(roundUp(channels, blocks))) +
              " of blocks of " + std::to_string(blocks));
  }
  if (p.groups > 1) because(std::to_string(w.groups.together) + " groups are merged into one of whole blocks");
  if (w.pixels.w < 16 || w.gemm.m % 16 != 0) because("rows of m or k are padded to fractals");
  out.push_back(idle + (why.empty() ? "" : ": " + why));
}

}  // namespace

double productsNeeded(const Problem& p) {
  const Dhw& small = p.transposed ? p.in : p.out;
  return static_cast<double>(p.batch) * static_cast<double>(p.cin) * static_cast<double>(p.cout / p.groups) *
         static_cast<double>(p.kernel.d) * static_cast<double>(p.kernel.h) * static_cast<double>(p.kernel.w) *
         static_cast<double>(small.d) * static_cast<double>(small.h) * static_cast<double>(small.w);
}

NpuReport reportOf(const Problem& problem, const CubeWork& w, const TilingPlan& plan, const CubeCost& cost,
                   const Machine& m) {
  NpuReport r;
  r.plan = plan;
  r.predictedCycles = cost.totalCycles;
  r.predictedMicroseconds = cost.totalCycles / m.npu.mhz;
  r.memoryCycles = cost.memoryCycles;
  r.memoryBytes = cost.memoryBytes;
  r.bound = boundOf(cost);
  r.tasks = cost.tasks;
  r.coreCycles = coreCycles(w, plan, m);
  r.cubeShare = cost.sums.cube / (cost.totalCycles * m.cores);
  r.usefulShare = std::min(1.0, productsNeeded(problem) / std::max(1.0, cost.sums.products));
  r.bytesIn = cost.sums.bytesIn;
  r.bytesOut = cost.sums.bytesOut;
  const CubeFootprint f = footprintOf(w, plan);
  r.buffers = {{"L0A", f.l0a, m.buffers.l0aBytes},
               {"L0B", f.l0b, m.buffers.l0bBytes},
               {"L0C", f.l0c, m.buffers.l0cBytes},
               {"L1", f.l1, m.buffers.l1Bytes}};
  if (!m.npu.fixpipe) r.buffers.push_back({"UB", f.ub, m.buffers.ubBytes});
  r.pipes = {{"cube", cost.sums.cube},
             {"l1_to_l0", cost.sums.load},
             {"gm_to_l1", cost.sums.stage},
             {"l0c_to_gm", cost.sums.store},
             {"fill", cost.sums.fill}};
  return r;
}

std::vector<std::string> whatWouldHelp(const Problem& problem, const CubeWork& w, const NpuReport& report,
                                       const Machine& machine) {
  std::vector<std::pair<double, std::string>> gains;
  for (const WhatIf& whatIf : whatIfs()) {
    Machine changed = machine;
    whatIf.change(changed);
    const auto choice = chooseCubePlan(w, changed, false);
    if (!choice.ok()) continue;
    const double gain = report.predictedCycles / choice->cost.totalCycles;
    if (gain > 1.02) gains.emplace_back(gain, whatIf.what);
  }
  std::stable_sort(gains.begin(), gains.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> out;
  for (const auto& [gain, what] : gains)
    out.push_back(std::string(what) + " would take " + percent(1 / gain) + " of the cycles");
  zeros(problem, w, report, out);
  const auto busy = std::count_if(report.coreCycles.begin(), report.coreCycles.end(), [](double c) { return c > 0; });
  if (busy < machine.cores)
    out.push_back(std::to_string(machine.cores - busy) + " of " + std::to_string(machine.cores) +
                  " cores have no task: there are " + std::to_string(report.tasks));
  return out;
}

}  // namespace cubejit
