// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how several broken rules are one message.
#pragma once

#include <string>
#include <vector>

namespace cubejit {

/// One rule a line.
inline std::string inLines(const std::vector<std::string>& rules) {
  std::string lines;
  for (const std::string& rule : rules) lines += (lines.empty() ? "" : "\n") + rule;
  return lines;
}

}  // namespace cubejit
