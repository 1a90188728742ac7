// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the operands' elements lie in memory, as sums of table entries: one table an axis, whatever the layout.
// Leaves reading them to the load unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/unit_models/cube_core.h"

namespace cubejit {

inline constexpr std::int64_t kMissing = -1;  ///< a channel that only pads a block

/// An activation of one image and real group: element = base(depth) + channel[] + row[] + column[].
struct ActivationTable {
  const std::byte* data = nullptr;
  std::vector<std::int64_t> channel, depth, row,
      column;  ///< channel: of the real group, padded; kMissing where there is none
};

/// Weights of one real group: element = outer[] + inner[] + tap[] + depth[]; outer and inner must be of one group of the problem.
struct WeightTable {
  const std::byte* data = nullptr;
  std::vector<std::int64_t> outer, inner, tap, depth;
  std::int64_t outerOfGroup = 1, innerOfGroup = 1;  ///< channels of one group of the problem
  bool oneGroup = true;                             ///< a real group is one group: every pair exists
  bool pairExists(std::int64_t o, std::int64_t i) const { return oneGroup || o / outerOfGroup == i / innerOfGroup; }
};

struct OperandTables {
  ActivationTable image, pixels;  ///< pixels: dW's small tensor
  WeightTable weights;            ///< dX
};

/// Tables for a task. Errors name the operand: null, of another type, or ending before what the task may read.
Status fillTables(const CubeJob& job, const GlobalOperands& operands, const CoreTask& task, OperandTables& tables);

}  // namespace cubejit
