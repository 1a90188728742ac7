// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the fields.
#include "runtime/json_report.h"

#include <nlohmann/json.hpp>

#include "runtime/json_problem.h"

namespace cubejit {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

std::string reportToJson(const Machine& chip, const TilingPlan& plan, const EmulationReport& report) {
  Json out{{"schema", "cubejit.soc_run/1"},
           {"soc", chip.name},
           {"gradient", toString(plan.gradient)},
           {"predicted_cycles", report.cycles},
           {"predicted_us", report.microseconds}};
  if (plan.gradient != Gradient::kDb) out["plan"] = Json::parse(planToJson(plan));
  out["total"] = countsJson(chip, report.total);
  for (const CoreCounts& core : report.cores) out["cores"].push_back(countsJson(chip, core));
  out["events_dropped"] = report.eventsDropped;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cubejit
