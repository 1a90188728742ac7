// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tilings that were published for known networks are set beside the planner's own. Shared by a test and the bench.
#pragma once

#include <string>
#include <vector>

#include "cubejit/npu.h"

namespace cubejit {

struct PublishedTiling {
  Problem problem;
  Pass pass = Pass::kDx;
  std::vector<std::string> broken;  ///< rules the published tiling breaks; none is expected
  NpuReport theirs;                 ///< dW: only the extents of a task are published, the rest is planned for them
  NpuReport ours;                   ///< under the same rules of the Ascend C kernels
};

/// The rows of bench/tilings/ascend_published.jsonl for a machine with f16. Errors name the line.
Result<std::vector<PublishedTiling>> publishedTilings(const std::string& path, const Machine& machine);

}  // namespace cubejit
