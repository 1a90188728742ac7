// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the simulated speed of a kernel's inner loops reads.
#pragma once

#include <string>
#include <vector>

#include "codegen/binary/tools.h"

namespace cubejit {

/// Inner loops on one CPU model; `problem` says why there are none.
struct CpuThroughput {
  std::string cpu, problem;
  std::vector<BlockThroughput> blocks;
};

std::vector<CpuThroughput> innerLoopThroughput(const Code& code, const std::vector<MachineLine>& instructions,
                                               const BinaryTools& tools);

Result<std::string> throughputText(const Code& code, const std::vector<MachineLine>& instructions,
                                   const BinaryTools& tools);

}  // namespace cubejit
