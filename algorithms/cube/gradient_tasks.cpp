// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides tasks from digits of their number.
#include "algorithms/cube/gradient_tasks.h"

#include <algorithm>

#include "algorithms/cube/rules.h"

namespace cubejit {
namespace {

constexpr std::size_t kDigits = 7;
// Which digits are summed over: tasks that differ in them only add to the same results.
constexpr bool kSummedDx[kDigits] = {false, false, false, false, true, false, false};
constexpr bool kSummedDw[kDigits] = {false, true, true, true, false, false, false};

constexpr std::int64_t kFewRegions = 8, kMostParts = 4;
constexpr std::int64_t kMostPartBytes = std::int64_t{1} << 30;

}  // namespace

std::int64_t pixelStart(const CubeWork& w, std::int64_t pixels, std::int64_t index) {
  if (pixels >= w.row()) return index * (pixels / w.row()) * w.row();
  const std::int64_t pieces = ceilDiv(w.row(), pixels);
  return index / pieces * w.row() + index % pieces * pixels;
}

std::int64_t GradientTasks::parts() const {
  const CubeWork& w = job_->work;
  const std::int64_t bytes = roundUp(w.gemm.m, 16) * w.gemm.n * w.kernel.d * w.groups.count * 4;
  return !dx_ && regions() < kFewRegions && bytes < kMostPartBytes ? std::min(kMostParts, sums_) : 1;
}

GradientTasks::GradientTasks(const CubeJob& job) : job_(&job), dx_(job.work.pass == Pass::kDx) {
  const CubeWork& w = job.work;
  const CoreSplit s = splitOf(w, job.plan.cube().singleShape);
  const std::int64_t dx[kDigits] = {s.groups, s.rows, s.batch, s.depth, s.reduction, s.channelsN, 1};
  const std::int64_t dw[kDigits] = {s.groups, s.reduction, s.batch, s.depth, s.tapsD, s.channelsN, s.channelsM};
  std::copy(dx_ ? dx : dw, (dx_ ? dx : dw) + kDigits, sizes_);
  for (std::size_t i = 0; i < kDigits; ++i) {
    count_ *= sizes_[i];
    if ((dx_ ? kSummedDx : kSummedDw)[i]) sums_ *= sizes_[i];
  }
}

CoreTask GradientTasks::taskAt(const std::int64_t* d) const {
  const CubeWork& w = job_->work;
  const Mkn& s = job_->plan.cube().singleShape;
  CoreTask t;
  t.group = d[0];
  t.image = d[2];
  t.depth = d[3];
  t.extent = s;
  if (dx_) {
    t.start = {pixelStart(w, s.m, d[1]), d[4] * s.k, d[5] * s.n};
  } else {
    t.tapDepth = d[4];
    t.start = {d[6] * s.m, pixelStart(w, s.k, d[1]), d[5] * s.n};
  }
  return t;
}

CoreTask GradientTasks::task(std::int64_t index) const {
  std::int64_t digits[kDigits];
  for (std::size_t i = kDigits; i-- > 0; index /= sizes_[i]) digits[i] = index % sizes_[i];
  return taskAt(digits);
}

int GradientTasks::coreOf(std::int64_t index) const {
  const std::int64_t cores = job_->machine.cores, each = count_ / cores, longer = count_ % cores;
  const std::int64_t inLonger = longer * (each + 1);
  return static_cast<int>(index < inLonger ? index / (each + 1) : longer + (index - inLonger) / each);
}

std::int64_t GradientTasks::taskOf(std::int64_t region, std::int64_t sum) const {
  const bool* summed = dx_ ? kSummedDx : kSummedDw;
  std::int64_t digits[kDigits], index = 0;
  for (std::size_t i = kDigits; i-- > 0;) {
    std::int64_t& from = summed[i] ? sum : region;
    digits[i] = from % sizes_[i];
    from /= sizes_[i];
  }
  for (std::size_t i = 0; i < kDigits; ++i) index = index * sizes_[i] + digits[i];
  return index;
}

}  // namespace cubejit
