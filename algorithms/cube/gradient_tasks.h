// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a pass is cut into tasks, which core of the chip has which, and which tasks add to the same results. The order is that
// of algorithms/cube/core_shares.h. Leaves threads to the runtime.
#pragma once

#include <cstdint>

#include "algorithms/cube/job.h"

namespace cubejit {

/// Where the run of pixels of a number begins, if runs have so many: whole rows, or pieces of one row.
std::int64_t pixelStart(const CubeWork& work, std::int64_t pixels, std::int64_t index);

/// Tasks, numbered in the order that cores take equal runs of.
class GradientTasks {
 public:
  /// `job` must outlive this; its plan.cube().cores is not looked at.
  explicit GradientTasks(const CubeJob& job);

  std::int64_t count() const { return count_; }
  CoreTask task(std::int64_t index) const;
  /// The core of the chip that has a task.
  int coreOf(std::int64_t index) const;

  /// Tasks whose blocks go to the same results form a region; `sums` of them in each, to be added in order.
  std::int64_t regions() const { return count_ / sums_; }
  std::int64_t sums() const { return sums_; }
  std::int64_t taskOf(std::int64_t region, std::int64_t sum) const;
  /// In how many parts, added at the end, the sums of a region of dW are added: a few where there are few regions to share out; else 1.
  std::int64_t parts() const;

 private:
  CoreTask taskAt(const std::int64_t* digits) const;
  const CubeJob* job_;
  bool dx_ = true;
  /// dX: group, rows, image, depth, k, n. dW: group, pixels, image, depth, kernel depth, n, m.
  std::int64_t sizes_[7] = {1, 1, 1, 1, 1, 1, 1};
  std::int64_t count_ = 1, sums_ = 1;
};

}  // namespace cubejit
