// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is told of an emulated run.
#include "run_soc.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "json_line.h"
#include "runtime/json_problem.h"

namespace cubejit::cli {
namespace {

using Json = nlohmann::ordered_json;

struct OneRun {
  Gradient gradient;
  TilingPlan plan;
  EmulationReport report;
};

std::int64_t capacityOf(const Machine& m, CoreBuffer b) {
  const std::int64_t bytes[] = {m.buffers.l1Bytes, m.buffers.l0aBytes, m.buffers.l0bBytes, m.buffers.l0cBytes,
                                m.buffers.ubBytes};
  return bytes[static_cast<std::size_t>(b)];
}

Json countsJson(const Machine& m, const CoreCounts& c) {
  Json out{{"cycles", c.cycles},         {"us", m.npu.mhz > 0 ? c.cycles / m.npu.mhz : 0},
           {"cube_steps", c.cubeSteps},  {"instructions", c.instructions},
           {"tasks", c.tasks},           {"blocks", c.blocks},
           {"skipped_blocks", c.skipped}};
  for (std::size_t i = 0; i < kPaths; ++i) out["bytes"][toString(static_cast<Path>(i))] = c.bytes[i];
  for (std::size_t i = 0; i < kPipes; ++i) out["busy_cycles"][toString(static_cast<Pipe>(i))] = c.busy[i];
  for (std::size_t i = 0; i < kCoreBuffers; ++i)
    out["high_water"][toString(static_cast<CoreBuffer>(i))] = c.highWater[i];
  return out;
}

void printJson(const Machine& m, const OneRun& run) {
  Json out{{"schema", "cubejit.soc_run/1"},
           {"soc", m.name},
           {"gradient", toString(run.gradient)},
           {"predicted_cycles", run.report.cycles},
           {"predicted_us", run.report.microseconds}};
  if (run.gradient != Gradient::kDb) out["plan"] = Json::parse(planToJson(run.plan));
  out["total"] = countsJson(m, run.report.total);
  for (const CoreCounts& core : run.report.cores) out["cores"].push_back(countsJson(m, core));
  out["events_dropped"] = run.report.eventsDropped;
  fmt::print("{}", jsonLine(out));
}

}  // namespace

void printCounts(const Machine& m, Gradient gradient, const EmulationReport& r) {
  fmt::print("{} on {}: {:.0f} cycles, {:.1f} us at {:.0f} MHz, as estimated; {} tasks, {} base blocks\n",
             toString(gradient), m.name, r.cycles, r.microseconds, m.npu.mhz, r.total.tasks, r.total.blocks);
  fmt::print("  cube       {} steps in {} instructions of all units\n", r.total.cubeSteps, r.total.instructions);
  fmt::print("  paths     ");
  for (std::size_t i = 0; i < kPaths; ++i) {
    if (r.total.bytes[i] > 0) fmt::print(" {} {}", toString(static_cast<Path>(i)), r.total.bytes[i]);
  }
  fmt::print(" bytes\n  high water");
  for (std::size_t i = 0; i < kCoreBuffers; ++i) {
    const auto buffer = static_cast<CoreBuffer>(i);
    if (r.total.highWater[i] > 0)
      fmt::print(" {} {} of {}", toString(buffer), r.total.highWater[i], capacityOf(m, buffer));
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
  for (const Gradient gradient : gradientsOf(executable.gradients())) {
    CUBEJIT_TRY(report, executable.emulationReport(gradient, files.any()));
    runs.push_back({gradient, executable.plan(gradient), std::move(report)});
  }
  std::vector<TimelinePart> parts;
  for (const OneRun& run : runs) {
    parts.push_back({toString(run.gradient), run.report.cycles, &run.report.trace});
    if (run.report.eventsDropped > 0)
      fmt::print(stderr, "note: the trace of {} leaves out {} instructions of the last tasks\n", toString(run.gradient),
                 run.report.eventsDropped);
  }
  CUBEJIT_TRY(written, writeTimelines(files, chip, parts));
  static_cast<void>(written);
  for (const OneRun& run : runs) {
    if (json)
      printJson(chip, run);
    else
      printCounts(chip, run.gradient, run.report);
  }
  return Unit{};
}

}  // namespace cubejit::cli
