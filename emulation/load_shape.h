// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a load from memory to L1 is specialised on: how the c0 elements that L1 keeps together, a run, lie in memory, and
// which moves of the first IR fetch them. Leaves calling the moves to load_code.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/tile/program.h"
#include "emulation/operand_tables.h"
#include "tiling/npu/cube_work.h"

namespace cubejit {

/// Runs of one operand. Pitches are elements.
struct RunShape {
  std::int64_t pitch =
      0;  ///< from one element of a run to the next; 0: not everywhere the same, or the operand is not loaded
  std::int64_t tail = 0;      ///< elements of the last run, if it is not whole
  std::int64_t toPitch = 32;  ///< bytes in L1 between runs that are fetched one after the other
  std::int64_t together =
      0;  ///< runs that lie element by element behind each other (pitch 1 from run to run) and are turned at once
  friend bool operator==(const RunShape& a, const RunShape& b) = default;
};

enum class LoadOperand : std::uint8_t { kImage, kPixels, kWeights };
inline constexpr std::size_t kLoadOperands = 3;

struct LoadShape {
  std::int64_t elementBytes = 2;
  std::array<RunShape, kLoadOperands> runs;
  const RunShape& of(LoadOperand o) const { return runs[static_cast<std::size_t>(o)]; }
  friend bool operator==(const LoadShape& a, const LoadShape& b) = default;
};

/// Where the operands of a task lie.
LoadShape loadShapeOf(const CubeWork& work, const OperandTables& tables);

/// The kernels of each operand, in the order of LoadOperand.
enum class LoadKernel : std::uint8_t {
  kOne,      ///< a whole run
  kSome,     ///< RunShape::together whole runs
  kOneTail,  ///< the last run, filled up with zeros
  kSomeTail
};
inline constexpr std::size_t kLoadKernels = 4;

/// For each operand its kernels. Those that its shape has no use for move nothing.
std::vector<Kernel> loadKernels(const LoadShape& shape, int lanes);

}  // namespace cubejit
