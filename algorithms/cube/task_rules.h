// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tasks a job's core can compute: rules of the task by itself, then those of its tiling with the task's extents.
#pragma once

#include <string>
#include <vector>

#include "algorithms/cube/job.h"

namespace cubejit {

/// Every rule that a task breaks; of its tiling only if the task itself breaks none. Empty: the task is legal.
std::vector<std::string> taskRules(const CubeJob& job, const CoreTask& task);

}  // namespace cubejit
