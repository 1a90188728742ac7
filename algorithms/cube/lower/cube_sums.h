// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where blocks of dW add up in memory, in f32, until all of them have, and how the vector unit then brings the sums to dw.
#pragma once

#include <cstdint>

#include "algorithms/cube/job.h"
#include "algorithms/cube/lower/cube_streams.h"
#include "algorithms/kit/lower/builder.h"

namespace cubejit {

/// [kernel depth][real group][channels n of a task][rows of a base block][unit][row][c0], in f32: what a base block adds to is one piece of
/// memory. A unit is c0 channels of the big tensor at one tap.
class CubeSums {
 public:
  explicit CubeSums(const CubeJob& job);

  std::int64_t bytes() const { return tapDepth() * kernelD_; }
  /// Bytes from a kernel depth, a real group, a task's share of n, a row to the next.
  std::int64_t tapDepth() const { return group() * groups_; }
  std::int64_t group() const { return shareOfN() * sharesOfN_; }
  std::int64_t shareOfN() const { return row() * rows_; }
  std::int64_t row() const { return units_ * c0_ * 4; }
  /// Rows of a base block that begins at a row: those that L0C holds.
  std::int64_t rowsFrom(std::int64_t row) const;
  std::int64_t unitsOfShare() const { return units_; }
  /// The first row of each base block.
  std::vector<std::int64_t> blocks() const;

 private:
  std::int64_t c0_, kernelD_, groups_, sharesOfN_, units_, rows_, singleM_, baseM_;
};

/// Adds a phase that brings `parts` sums, side by side in `buffer`, to dw, in strips that fit UB.
void addCastPhase(ProgramBuilder& b, const CubeJob& job, const CubeTensors& tensors, const CubeSums& sums, int buffer,
                  std::int64_t parts, int result, int ub, int lanes);

/// Adds a phase that zeroes so many bytes of a buffer, by way of UB.
void addZeroPhase(ProgramBuilder& b, const char* name, int buffer, std::int64_t bytes, int ub, std::int64_t ubBytes,
                  int lanes);

}  // namespace cubejit
