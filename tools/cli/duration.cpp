// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the units of time.
#include "duration.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

namespace cubejit::cli {

Result<double> parseDuration(const std::string& flag, const std::string& text) {
  const auto wrong = [&](const char* what) {
    return invalidInput(fmt::format("{} = '{}' {}; write for example 30s, 10m or 2h", flag, text, what));
  };
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return wrong("is not a time");
  const std::string unit = end;
  double seconds = value;
  if (unit == "ms")
    seconds *= 1e-3;
  else if (unit == "m")
    seconds *= 60;
  else if (unit == "h")
    seconds *= 3600;
  else if (!unit.empty() && unit != "s")
    return wrong("has an unknown unit");
  if (!(seconds > 0)) return wrong("must be more than zero");
  if (seconds > 366.0 * 24 * 3600) return wrong("is more than a year");
  return seconds;
}

std::string clockText(double seconds) {
  const long s = std::max(0L, static_cast<long>(seconds + 0.5));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace cubejit::cli
