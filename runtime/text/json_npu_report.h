// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the JSON form of what the planner says about a plan for an NPU: "cubejit.npu_plan/1".
#pragma once

#include "cubejit/npu.h"
#include "runtime/text/json_value.h"

namespace cubejit {

/// Candidates, refused rules and what would be better only where the report has them.
Json npuReportToJson(const Problem& problem, const Machine& machine, const NpuReport& report);

}  // namespace cubejit
