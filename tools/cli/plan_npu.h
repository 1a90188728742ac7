// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how plans for an NPU are shown. Leaves which problems and flags to plan.
#pragma once

#include "cubejit/npu.h"

namespace cubejit::cli {

/// The report for people, on standard output; `explained` adds cores, pipes, candidates, refused rules and what would help.
void printNpuReport(const Problem& problem, const Machine& machine, const NpuReport& report, bool explained);

}  // namespace cubejit::cli
