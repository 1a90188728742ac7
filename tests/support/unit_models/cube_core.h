// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a core means: given a tiling and a task its units' models compute one base block of C after the other in its L0C, in the
// order of the tiling, and write a block to memory. Everything passes through the core's own buffers of the chip's sizes. Slow; generated
// programs must leave the same bits. Leaves cutting a gradient into tasks to its callers.
//
//   CubeJob job = *makeCubeJob(problem, plan, machine);
//   auto core = *CubeCore::create(machine, 0);
//   core->begin(job, operands, task);
//   while (*core->iterate()) core->write(target);
//
// A core is used by one thread at a time; different cores are independent. Errors are values whose message begins with
// "core N, block (m I, n J): " and names the rule that is broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "algorithms/cube/block_stream.h"
#include "algorithms/cube/job.h"
#include "cubejit/index_map.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"

namespace cubejit {

/// A tensor in global memory. `map` says where each element lies (index_map.h: any layout, any strides); elements are `type`.
/// `data` is the address of the element at coordinate 0 of every axis: callers whose pointer was moved to an image, a group or a row
/// move it back, or describe a smaller tensor. `bytes` bounds it: an access outside [data, data + bytes) is an error; -1 = unknown.
struct GlobalView {
  std::byte* data = nullptr;
  std::int64_t bytes = -1;
  DType type = DType::kF16;
  IndexMap map;
};

/// What a core multiplies. dX reads dy and w, dW reads dy and x; the third is not looked at. Their type is the cube's operand type
/// (problem.dtype).
struct GlobalOperands {
  GlobalView dy, x, w;
};

/// Where a block goes, and how. The element at block position (r, c) goes to
///   dX: channel task.start.n + n0 + c of the real group, pixel task.start.m + m0 + r, at task.depth, task.image
///   dW: (o = task.start.m + m0 + r, the big tensor's channel and tap of column task.start.n + n0 + c, tapDepth)
/// of `view`. Elements that the tensor does not have are not written; channels that only pad its last block of c0 are (as 0 if the
/// weights' are), in layouts that have them. A block that nothing contributes to is zero.
struct BlockTarget {
  GlobalView view;     ///< f16 and bf16: rounded to nearest even; f32: as they are
  bool add = false;    ///< to what is there (f32 only)
  bool fresh = false;  ///< with `add`: the results count as zero so far, whatever memory holds
};

class CubeCore {
 public:
  /// A core with its buffers. kLimitExceeded without memory for them. `machine` is copied.
  static Result<std::unique_ptr<CubeCore>> create(const Machine& machine, int index);
  ~CubeCore();
  CubeCore(const CubeCore&) = delete;
  CubeCore& operator=(const CubeCore&) = delete;

  /// The core of the chip that this one stands for; errors say it.
  void becomes(int index);

  /// Starts a task. `job` must live until the next begin(). Errors: an operand missing or of another type, a task outside the matrix
  /// or not on its grid, a buffer too small for the tiling with the buffer's name, both byte counts and the field to change.
  Status begin(const CubeJob& job, const GlobalOperands& operands, const CoreTask& task);
  /// Computes the next base block, m fastest if plan.cube().tile.order is kNOuter. False when the task has no more (then, and only then,
  /// another begin() or iterate() returning false follows). L0C holds the block until the next iterate().
  Result<bool> iterate();
  /// The block computed last. Precondition: iterate() returned true.
  const CubeBlock& block() const;
  /// Sum at (m, n) of that block, in L0C; 0 of a skipped block. Precondition: m < block().m, n < block().n.
  float sum(std::int64_t m, std::int64_t n) const;
  /// Moves that block to memory, converting type and layout on the way.
  Status write(const BlockTarget& target);

 private:
  CubeCore();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cubejit
