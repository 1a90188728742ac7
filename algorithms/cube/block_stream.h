// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the program of a core: which unit instructions compute the base blocks of a task, in which order, in which part of each
// buffer. A pure function of job and task. Leaves running the instructions to cube_core, their time to clock.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "algorithms/cube/footprint.h"
#include "algorithms/cube/job.h"
#include "algorithms/cube/unit_program.h"
#include "tiling/rounding.h"

namespace cubejit {

/// A base block of a task.
struct CubeBlock {
  std::int64_t mIndex = 0, nIndex = 0;  ///< which base block of the task
  std::int64_t m0 = 0, n0 = 0;          ///< its first element, relative to task.start
  std::int64_t m = 0, n = 0;            ///< its extent: base, or the tail
  bool computed =
      false;  ///< false: nothing contributes (no kernel depth meets a depth of the unfolded operand); write() then writes nothing
};

/// Which of a block's f32 in L0C ([n / 16][m rounded up to 16][16]) is the sum at (m, n).
inline std::int64_t sumInL0c(const CubeBlock& block, std::int64_t m, std::int64_t n) {
  return (n / 16 * roundUp(block.m, 16) + m) * 16 + n % 16;
}

/// A task cut to the matrix. Extents may be 0.
struct TaskExtent {
  Mkn start, count;  ///< k: dX of one kernel depth
};
TaskExtent cutTask(const CubeJob& job, const CoreTask& task);

/// Kernel depths that meet a depth of the unfolded operand for this task, and that depth. At most one for dW.
struct MeetingDepth {
  std::int64_t tap = 0, image = 0;
};
std::vector<MeetingDepth> meetingDepths(const CubeJob& job, const CoreTask& task);

class BlockStream {
 public:
  BlockStream() = default;
  /// `job` must outlive the stream. Precondition: the task is on the job's grid.
  BlockStream(const CubeJob& job, const CoreTask& task);

  /// The next base block and the instructions that leave it in L0C at `l0c()`; false when there is none.
  bool next(CubeBlock& block, UnitProgram& program);
  std::int64_t l0c() const { return l0c_; }
  /// The end of the part of L1 that begins at an offset.
  std::int64_t endInL1(std::int64_t begin) const { return begin + (begin < b_.origin ? a_.bytes : b_.bytes); }

 private:
  struct L1Block {  ///< what a slot of L1 holds
    std::int64_t step = -1, tap = -1, kBlock = -1;
    friend bool operator==(const L1Block& a, const L1Block& b) = default;
  };
  struct Operand {                                    ///< A or B on its way through L1 and L0
    std::int64_t buffers = 1, bytes = 0, origin = 0;  ///< of L1
    std::int64_t stepK = 1;
    std::array<L1Block, 2> held;
    std::array<UnitInstruction, 2> loads;
    int newest = 1;
    std::int64_t l0Buffers = 1, l0Bytes = 0;
    int l0 = 1;
  };

  void advance();
  int stage(Operand& operand, bool isA, const L1Block& wanted, std::int64_t unfoldedDepth, UnitProgram& program);
  UnitInstruction loadOf(bool isA, std::int64_t l1, const L1Block& block, std::int64_t unfoldedDepth) const;
  LoadImage unfoldedPiece(std::int64_t l1, const Span& pixels, const Span& units, std::int64_t depth) const;
  UnitInstruction fillOf(const Operand& operand, bool isA, int slot, std::int64_t kStep, const CubeBlock& block) const;
  std::int64_t fillL0(Operand& operand, bool isA, int slot, std::int64_t kStep, const CubeBlock& block,
                      UnitProgram& program);

  const CubeJob* job_ = nullptr;
  CoreTask task_;
  TaskExtent extent_;
  std::vector<MeetingDepth> meets_;
  bool dx_ = true, wholeRows_ = true;
  std::int64_t mBlocks_ = 0, nBlocks_ = 0, kSteps_ = 0;
  std::int64_t m_ = 0, n_ = 0;  ///< the next block
  bool done_ = true;
  Operand a_, b_;
  std::int64_t l0c_ = 0;
  int l0cSlot_ = 1;
};

}  // namespace cubejit
