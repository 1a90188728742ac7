// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides columns, and how much is shown.
#include "runtime/dump/chip.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "cubejit/describe_counts.h"
#include "cubejit/timeline.h"
#include "runtime/chip/chip_report.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"

namespace cubejit {
namespace {

constexpr std::int64_t kMostDumpedEvents = 200000;  // of all cores; pictures and texts are of core 0
constexpr std::size_t kMostLines = 2000;

const OfConvolution& convolutionOf(const PassStages& s) { return std::get<OfConvolution>(s.origin); }

EmulationReport ofCoreZero(const PassStages& s) {
  const OfConvolution& made = convolutionOf(s);
  EmulationReport report = chipReport(made.problem, made.plan, s.machine, loweredProgram(s), true, kMostDumpedEvents);
  std::erase_if(report.trace, [](const TraceEvent& e) { return e.core != 0; });
  std::stable_sort(report.trace.begin(), report.trace.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.start < b.start; });
  return report;
}

std::string padded(std::string text, std::size_t width, bool left) {
  if (text.size() < width) text.insert(left ? text.size() : 0, width - text.size(), ' ');
  return text;
}

std::string fixed(double value, int decimals = 1) {
  std::array<char, 64> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
  return {buffer.data(), end.ptr};
}

}  // namespace

const TileProgram& loweredProgram(const PassStages& stages) { return stages.lowered ? *stages.lowered : stages.tile; }

std::string coreProgram(const PassStages& s) {
  const EmulationReport report = ofCoreZero(s);
  const TilingPlan& plan = convolutionOf(s).plan;
  const CoreCounts& total = report.total;
  std::string out = std::string(toString(plan.pass)) + " on " + s.machine.name + ": " + std::to_string(total.tasks) +
                    " tasks on " + std::to_string(s.machine.cores) + " cores, " + std::to_string(total.blocks) +
                    " base blocks, " + std::to_string(total.instructions) + " instructions, " +
                    fixed(report.cycles, 0) + " cycles as estimated\nplan " + planToJson(plan) +
                    "\n\nbuffer   high water   capacity\n";
  for (std::size_t i = 0; i < kCoreBuffers; ++i)
    out += padded(toString(static_cast<CoreBuffer>(i)), 6, true) +
           padded(std::to_string(total.highWater[i]), 13, false) +
           padded(std::to_string(capacityOf(s.machine.buffers, static_cast<CoreBuffer>(i))), 11, false) + "\n";
  out += "\ncore 0: cycles from and to, pipe, instruction, bytes (of the cube: steps)\n";
  std::size_t lines = 0;
  for (const TraceEvent& e : report.trace) {
    if (++lines > kMostLines) {
      out += "... " + std::to_string(report.trace.size() - kMostLines) + " more\n";
      break;
    }
    out += padded(fixed(e.start), 12, false) + padded(fixed(e.end), 12, false) + "  " +
           padded(toString(e.pipe), 10, true) + padded(e.name, 22, true) + padded(std::to_string(e.bytes), 9, false) +
           "\n";
  }
  return out;
}

std::string chipFacts(const PassStages& s) {
  const EmulationReport report = ofCoreZero(s);
  const TilingPlan& plan = convolutionOf(s).plan;
  const CoreCounts& core = report.cores.front();
  Json out{{"name", s.machine.name},
           {"cores", s.machine.cores},
           {"tasks", report.total.tasks},
           {"blocks", report.total.blocks},
           {"instructions", report.total.instructions},
           {"cycles", report.cycles},
           {"plan", Json::parse(planToJson(plan))}};
  for (std::size_t i = 0; i < kCoreBuffers; ++i)
    out["buffers"].push_back({{"name", toString(static_cast<CoreBuffer>(i))},
                              {"bytes", capacityOf(s.machine.buffers, static_cast<CoreBuffer>(i))},
                              {"used", report.total.highWater[i]}});
  for (std::size_t i = 0; i < kPipes; ++i)
    out["pipes"].push_back(
        {{"name", toString(static_cast<Pipe>(i))}, {"busy", core.cycles > 0 ? core.busy[i] / core.cycles : 0}});
  Machine one = s.machine;
  one.cores = 1;
  out["picture"] = timelineSvg(one, {{toString(plan.pass), core.cycles, &report.trace}});
  return oneLine(out);
}

}  // namespace cubejit
