// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is told of an emulated run.
#include "run_soc.h"

#include <fmt/core.h>

#include "cubejit/describe_counts.h"
#include "runtime/text/json_report.h"

namespace cubejit::cli {
namespace {

struct OneRun {
  Pass pass;
  TilingPlan plan;
  EmulationReport report;
};

}  // namespace

void printCounts(const Machine& m, const TilingPlan& plan, const EmulationReport& r) {
  fmt::print("{} on {}: {:.0f} cycles, {:.1f} us at {:.0f} MHz, as estimated; {} tasks, {} base blocks\n",
             toString(plan.pass), m.name, r.cycles, r.microseconds, m.npu.mhz, r.total.tasks, r.total.blocks);
  fmt::print("  cube       {} steps in {} instructions of all units\n", r.total.cubeSteps, r.total.instructions);
  if (plan.is<CubePlan>())
    fmt::print("  sums       of up to {} terms each, in the cube's own order: one after another in f32\n",
               plan.as<CubePlan>().singleShape.k);
  fmt::print("  paths     ");
  for (std::size_t i = 0; i < kPaths; ++i) {
    if (r.total.bytes[i] > 0) fmt::print(" {} {}", toString(static_cast<Path>(i)), r.total.bytes[i]);
  }
  fmt::print(" bytes\n  high water");
  for (std::size_t i = 0; i < kCoreBuffers; ++i) {
    const auto buffer = static_cast<CoreBuffer>(i);
    if (r.total.highWater[i] > 0)
      fmt::print(" {} {} of {}", toString(buffer), r.total.highWater[i], capacityOf(m.buffers, buffer));
  }
  fmt::print(" bytes\n  {:>4} {:>12} {:>10} {:>6} {:>6} {:>6} {:>6} {:>6} {:>8} {:>13} {:>13} {:>13}\n", "core",
             "cycles", "us", "gm_l1%", "l1_l0%", "cube%", "out%", "vec%", "tasks", "gm_to_l1", "l1_to_l0", "to_gm");
  for (std::size_t i = 0; i < r.cores.size(); ++i) {
    const CoreCounts& c = r.cores[i];
    fmt::print("  {:>4} {:>12.0f} {:>10.1f}", i, c.cycles, m.npu.mhz > 0 ? c.cycles / m.npu.mhz : 0);
    for (const double busy : c.busy) fmt::print(" {:>6.1f}", c.cycles > 0 ? 100 * busy / c.cycles : 0);
    const auto bytes = [&](Path p) { return c.bytes[static_cast<std::size_t>(p)]; };
    fmt::print(" {:>8} {:>13} {:>13} {:>13}\n", c.tasks, bytes(Path::kGmToL1),
               bytes(Path::kL1ToL0a) + bytes(Path::kL1ToL0b), bytes(Path::kL0cToGm) + bytes(Path::kUbToGm));
  }
}

Status tellOfChip(const Executable& executable, const Machine& chip, const TimelineFiles& files, bool json) {
  std::vector<OneRun> runs;
  for (const Pass pass : passesOf(executable.passes())) {
    CUBEJIT_TRY(report, executable.emulationReport(pass, files.any()));
    runs.push_back({pass, executable.plan(pass), std::move(report)});
  }
  std::vector<TimelinePart> parts;
  for (const OneRun& run : runs) {
    parts.push_back({toString(run.pass), run.report.cycles, &run.report.trace, run.report.eventsDropped});
    if (run.report.eventsDropped > 0)
      fmt::print(stderr, "note: the trace of {} leaves out {} instructions of the last tasks\n", toString(run.pass),
                 run.report.eventsDropped);
  }
  CUBEJIT_RETURN_IF_ERROR(writeTimelines(files, chip, parts));
  for (const OneRun& run : runs) {
    if (json)
      fmt::print("{}\n", reportToJson(chip, run.plan, run.report));
    else
      printCounts(chip, run.plan, run.report);
  }
  return Unit{};
}

}  // namespace cubejit::cli
