// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which stages can be dumped and what their files are called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubejit/dump.h"
#include "cubejit/result.h"

namespace cubejit {

enum class DumpStage : std::uint8_t {
  kProblem,
  kPlan,
  kTile,
  kVector,
  kIr,
  kIrOptimised,
  kAsm,
  kBytes,
  kObject,
  kCHeader,
  kThroughput,
  kPage
};

/// "plan,asm" in any order, "all" for every one. An error names every unknown one, and those there are.
Result<std::vector<DumpStage>> parseDumpStages(const std::string& text);

bool contains(const std::vector<DumpStage>& stages, DumpStage stage);

}  // namespace cubejit
