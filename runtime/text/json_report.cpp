// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the fields.
#include "runtime/text/json_report.h"

#include "cubejit/describe_counts.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"

namespace cubejit {
namespace {

Json countsJson(const Machine& m, const CoreCounts& c) {
  Json out{{"cycles", c.cycles}, {"us", m.npu.mhz > 0 ? c.cycles / m.npu.mhz : 0}};
  describeCounts(
      c, [&](const char* name, auto number) { out[name] = number; },
      [&](const char* group, const char* name, auto number) { out[group][name] = number; });
  return out;
}

}  // namespace

std::string reportToJson(const Machine& chip, const TilingPlan& plan, const EmulationReport& report) {
  Json out{{"schema", "cubejit.soc_run/1"},
           {"soc", chip.name},
           {"pass", toString(plan.pass)},
           {"predicted_cycles", report.cycles},
           {"predicted_us", report.microseconds}};
  // Terms that the cube adds one after another, in its own order.
  if (plan.is<CubePlan>()) out["sum_terms"] = plan.as<CubePlan>().singleShape.k;
  if (plan.pass != Pass::kDb) out["plan"] = Json::parse(planToJson(plan));
  out["total"] = countsJson(chip, report.total);
  for (const CoreCounts& core : report.cores) out["cores"].push_back(countsJson(chip, core));
  out["events_dropped"] = report.eventsDropped;
  return oneLine(out);
}

}  // namespace cubejit
