// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how spans of time are typed and shown: 90, 90s, 10m, 1.5h; 8:41, 1:02:03.
#pragma once

#include <string>

#include "cubejit/result.h"

namespace cubejit::cli {

/// Seconds, more than zero and at most a year. A number without unit is seconds; units are ms, s, m, h.
Result<double> parseDuration(const std::string& flag, const std::string& text);
/// Minutes and seconds, with hours if there are any.
std::string clockText(double seconds);

}  // namespace cubejit::cli
