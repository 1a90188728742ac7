// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the JSON forms of problems (one object a line in suites) and plans.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"

namespace cubejit {

/// Reads one object {name, rank, n, ci, co, groups, input:[d,h,w], output, kernel, stride, pad:[front,back,up,down,left,right],
/// dilation, transposed, math, post_ops, dtype, layout}; the last four as the command's flags of these names spell them. Unknown keys are refused; `passes`, `dtypes` and `gflop` are notes and ignored.
Result<Problem> problemFromJson(const std::string& text);
std::string problemToJson(const Problem& problem);

/// Reads a file of one object a line; empty lines are skipped. Errors name the line.
Result<std::vector<Problem>> readSuite(const std::string& path);

/// FILE, FILE:NAME (one of several) or "-" (one line of standard input).
Result<Problem> readProblem(const std::string& where);

/// The plan as a JSON object: version, pass, algorithm, and fields as in describePlan. Plans of another version, or of an algorithm that
/// this build leaves out, are refused.
std::string planToJson(const TilingPlan& plan);
Result<TilingPlan> planFromJson(const std::string& text);

}  // namespace cubejit
