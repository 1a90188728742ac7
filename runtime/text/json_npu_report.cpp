// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/text/json_npu_report.h"

#include "runtime/text/json_problem.h"

namespace cubejit {

Json npuReportToJson(const Problem& problem, const Machine& machine, const NpuReport& r) {
  Json out{{"schema", "cubejit.npu_plan/1"},
           {"name", problem.name},
           {"soc", machine.name},
           {"pass", toString(r.plan.pass)},
           {"plan", Json::parse(planToJson(r.plan))},
           {"predicted_cycles", r.predictedCycles},
           {"predicted_us", r.predictedMicroseconds},
           {"memory_cycles", r.memoryCycles},
           {"bound", r.bound},
           {"tasks", r.tasks},
           {"cube_share", r.cubeShare},
           {"useful_share", r.usefulShare},
           {"bytes_in", r.bytesIn},
           {"bytes_out", r.bytesOut},
           {"core_cycles", r.coreCycles}};
  for (const BufferUse& b : r.buffers)
    out["buffers"].push_back({{"buffer", b.buffer}, {"used_bytes", b.usedBytes}, {"capacity_bytes", b.capacityBytes}});
  for (const PipeUse& p : r.pipes) out["pipes"][p.pipe] = p.cycles;
  if (r.legal == 0) return out;
  out["legal"] = r.legal;
  out["refused"] = r.refused;
  out["candidates"] = Json::array();
  for (const NpuCandidate& c : r.candidates)
    out["candidates"].push_back({{"plan", Json::parse(planToJson(c.plan))},
                                 {"predicted_cycles", c.predictedCycles},
                                 {"slowest_core", c.slowestCore},
                                 {"bound", c.bound}});
  out["refused_by"] = r.refusedBy;
  out["better"] = r.better;
  return out;
}

}  // namespace cubejit
