// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the layout of NPU plans: the choice, where its bytes and cycles go, and why it was chosen.
#include "plan_npu.h"

#include <fmt/core.h>

#include <algorithm>
namespace cubejit::cli {
namespace {

double share(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string briefCube(const TilingPlan& p) {
  const CubeTile& t = p.cube().tile;
  return fmt::format("base {}x{}x{} step m {} n {} ka {} kb {} buffers {}{}{} {}{} {} task {}x{}x{}", t.base.m,
                     t.base.k, t.base.n, t.stepM, t.stepN, t.stepKa, t.stepKb, t.buffersL0a, t.buffersL0b, t.buffersL0c,
                     t.buffersA1, t.buffersB1, toString(t.order), p.cube().singleShape.m, p.cube().singleShape.k,
                     p.cube().singleShape.n);
}

void printCores(const NpuReport& r) {
  fmt::print("  cores, cycles and share of the time\n");
  for (std::size_t i = 0; i < r.coreCycles.size(); ++i) {
    fmt::print("{}{:>4} {:>12.0f} {:>5.1f} %", i % 4 == 0 ? "   " : "", i, r.coreCycles[i],
               share(r.coreCycles[i], r.predictedCycles));
    if (i % 4 == 3 || i + 1 == r.coreCycles.size()) fmt::print("\n");
  }
}

void printPipes(const Machine& m, const NpuReport& r) {
  fmt::print("  pipes, cycles a core and share of the time; they run side by side\n");
  for (const PipeUse& pipe : r.pipes) {
    const double cycles = pipe.cycles / m.cores;
    fmt::print("    {:<10} {:>12.0f} {:>5.1f} %\n", pipe.pipe, cycles, share(cycles, r.predictedCycles));
  }
  fmt::print("    {:<10} {:>12.0f} {:>5.1f} %\n", "memory", r.memoryCycles, share(r.memoryCycles, r.predictedCycles));
}

}  // namespace

void printNpuReport(const Problem& problem, const Machine& m, const NpuReport& r, bool explained) {
  const TilingPlan& p = r.plan;
  const CubeTile& t = p.cube().tile;
  const bool dx = p.pass != Pass::kDw;
  fmt::print("{}{} on {} ({} cores, {}, {:.0f} MHz)\n", problem.name.empty() ? "" : problem.name + ": ",
             toString(p.pass), m.name, m.cores, toString(t.operand), m.npu.mhz);
  fmt::print("  base       m {} k {} n {}; in L1 step_m {} step_n {} step_ka {} step_kb {}; {}\n", t.base.m, t.base.k,
             t.base.n, t.stepM, t.stepN, t.stepKa, t.stepKb, toString(t.order));
  fmt::print("  buffers    L0A {} L0B {} L0C {} A1 {} B1 {} (2 = double)\n", t.buffersL0a, t.buffersL0b, t.buffersL0c,
             t.buffersA1, t.buffersB1);
  fmt::print("  tasks      {} of m {} k {} n {}: {} images, {} groups, {} depths{}, {} along {}, {} along n{}\n",
             r.tasks, p.cube().singleShape.m, p.cube().singleShape.k, p.cube().singleShape.n, p.cube().cores.batch,
             p.cube().cores.groups, p.cube().cores.depth,
             dx ? "" : fmt::format(" x {} of the kernel", p.cube().cores.tapsD),
             dx ? p.cube().cores.rows : p.cube().cores.channelsM, "m", p.cube().cores.channelsN,
             p.cube().cores.reduction > 1 ? fmt::format(", {} along k", p.cube().cores.reduction) : "");
  fmt::print(
      "  predicted  {:.0f} cycles, {:.1f} us, bound by {}; the cube works {:.1f} % of the time, {:.1f} % of it "
      "needed\n",
      r.predictedCycles, r.predictedMicroseconds, r.bound, 100 * r.cubeShare, 100 * r.usefulShare);
  fmt::print("  occupancy ");
  for (const BufferUse& b : r.buffers)
    fmt::print(" {} {} of {} ({:.0f} %)", b.buffer, b.usedBytes, b.capacityBytes,
               share(static_cast<double>(b.usedBytes), static_cast<double>(b.capacityBytes)));
  fmt::print("\n");
  if (!explained) return;
  printPipes(m, r);
  printCores(r);
  fmt::print("  {} legal candidates, {} refused; the best\n", r.legal, r.refused);
  for (const NpuCandidate& c : r.candidates)
    fmt::print("    {:>12.0f} {:<9} {}\n", c.predictedCycles, c.bound, briefCube(c.plan));
  for (const std::string& rule : r.refusedBy) fmt::print("    refused: {}\n", rule);
  fmt::print("  what would be better\n");
  for (const std::string& line : r.better) fmt::print("    {}\n", line);
  if (r.better.empty())
    fmt::print("    nothing that is asked for here: no doubled buffer, rate or core count gains 2 %\n");
}

}  // namespace cubejit::cli
