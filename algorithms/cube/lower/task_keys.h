// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tasks are alike but for where their operands lie, and where those lie: by keys, which are equal where the tasks'
// instructions are, and places.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cube/job.h"
#include "algorithms/cube/lower/cube_streams.h"
#include "algorithms/cube/lower/cube_sums.h"

namespace cubejit {

/// Where the first elements of a task's operands lie, in bytes.
struct TaskPlaces {
  std::int64_t image = 0, other = 0, result = 0;
};

using TaskKey = std::vector<std::int64_t>;

/// All refer to what they were made of. Tasks have their extents.
class TaskKeys {
 public:
  TaskKeys(const CubeJob& job, const CubeTensors& tensors, const CubeSums& sums)
      : job_(&job), t_(&tensors), sums_(&sums) {}

  TaskPlaces places(const CoreTask& task) const;
  /// By the channels of both sides and their real group; `summed`: dX, by those that it sums.
  TaskKey channels(const CoreTask& task, bool summed) const;
  /// By the pixels, of the result (dX) or summed (dW).
  TaskKey pixels(const CoreTask& task) const;
  /// By the kernel depths that meet a depth of the image.
  TaskKey depths(const CoreTask& task) const;

 private:
  const CubeJob* job_;
  const CubeTensors* t_;
  const CubeSums* sums_;
};

}  // namespace cubejit
