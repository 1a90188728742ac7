// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how plans are fixed for reproducible training: a text file of problems and plans that no tuning run changes.
#pragma once

#include <optional>
#include <string>

#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"

namespace cubejit {

/// The plan the file has for the problem and pass; none if the file or the line does not exist. A line that cannot be read
/// is an error: a pin that is silently ignored is none. Of several the first counts.
Result<std::optional<TilingPlan>> findPin(const std::string& path, const Problem& problem, Pass pass,
                                          const std::string& isa);

/// Adds a line with one write, so that processes may add at once.
Status addPin(const std::string& path, const Problem& problem, const TilingPlan& plan, const std::string& isa);

}  // namespace cubejit
