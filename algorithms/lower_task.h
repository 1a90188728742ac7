// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the arrow from one task of a cube plan to a TileProgram that a kernel drives: Iterate runs one phase, GetTensorC another.
// Leaves whole gradients to lower.h, running and keeping programs to the runtime.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cube/block_stream.h"
#include "algorithms/lower.h"
#include "cubejit/index_map.h"

namespace cubejit {

/// Where the elements of a block lie in a caller's tensor: (row, column) at row * row + column / panel * panels + column % panel elements
/// from the block's first.
struct BlockPitches {
  DType type = DType::kF32;
  std::int64_t row = 1, panel = 1, panels = 1;
  bool adds = false;  ///< to what is there; f32 only
  friend bool operator==(const BlockPitches& a, const BlockPitches& b) = default;
};

/// Tensors as the caller's memory has them: they may have more images, depths and channels than the job's problem.
struct TaskTensors {
  IndexMap image;  ///< dy of dX, and of dW of a transposed convolution; else x
  IndexMap other;  ///< w of dX; of dW that of dy and x which is not the image
  BlockPitches result;
};

/// Where a task's operands lie, and which tasks have the same program.
struct TaskPlace {
  std::vector<std::int64_t> like;     ///< the same where programs are
  std::int64_t image = 0, other = 0;  ///< bytes, as the program counts them: see CubeTaskProgram
};
TaskPlace placeOf(const CubeJob& job, const TaskTensors& tensors, const CoreTask& task);

struct TaskBlock {
  CubeBlock block;
  std::int64_t l0c = 0;            ///< where its sums begin in L0C, in bytes: [n / 16][m rounded up to 16][16] of f32
  int compute = -1, store = -1;    ///< phases; -1: nothing contributes
  std::int64_t storedColumns = 0;  ///< of its n, those that `store` writes
};

/// Buffers 0, 1 and 2 of `tile` are the image, the other operand and the result. The operands begin `image` and `other` bytes behind
/// TaskPlace's of the task that runs, counted from the tensors' element 0; the result where the block does. L1 and L0C are shared buffers,
/// which outlive a phase.
struct CubeTaskProgram {
  TileProgram tile;
  std::vector<TaskBlock> blocks;  ///< in the order of the plan
  std::int64_t image = 0, other = 0;
  int l0c = -1;  ///< the buffer
};

/// Errors: kLimitExceeded, of a program that is too long. Preconditions: taskRules() finds nothing (algorithms/cube/task_rules.h); channels of dW
/// are whole blocks, as all of a block are written.
Result<CubeTaskProgram> lowerTask(const CubeJob& job, const TaskTensors& tensors, const CoreTask& task, int lanes,
                                  const CubeShortcuts& shortcuts = {});

}  // namespace cubejit
