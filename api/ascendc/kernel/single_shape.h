// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what one SetSingleShape with its start position is to an emulated core: a task, how far the operands' pointers are moved
// back to where tensors begin, which elements are touched. Leaves computing to the core, and memory's bounds to who knows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/lower_task.h"
#include "api/ascendc/kernel/group_mask.h"
#include "api/ascendc/kernel/placement.h"
#include "cubejit_ascendc/gradient_on_core.h"

namespace cubejit::ascendc {

/// What the setters were given. dW: depth 0.
struct SingleShape {
  std::int64_t m = 0, k = 0, n = 0;
  std::int64_t depth = 0, row = 0;
};

/// Elements that are touched, counted from where a tensor begins for this core. Empty: last < first.
struct Reach {
  std::int64_t first = 0, last = -1;
  bool any() const { return last >= first; }
};

/// A single shape, ready to be computed.
struct PreparedShape {
  CoreTask task;
  std::int64_t gradOutputBack = 0, otherBack = 0;  ///< elements from where the caller's pointer is to row 0
  Reach gradOutput, other;
};

using InputTiling = AscendC::tiling::TConv3DBackpropInputTiling;
using FilterTiling = AscendC::tiling::TConv3DBpFilterTiling;

/// "field = value", as rules begin.
inline std::string fieldIs(const char* field, std::int64_t value) {
  return std::string(field) + " = " + std::to_string(value);
}

/// Every rule that a single shape breaks, in the words of the setters. Precondition of all: checkTiling found nothing.
std::vector<std::string> singleShapeRules(const InputTiling& tiling, const SingleShape& shape);
std::vector<std::string> singleShapeRules(const FilterTiling& tiling, const SingleShape& shape);

/// Precondition: it breaks no rule.
PreparedShape workOf(const InputTiling& tiling, const SingleShape& shape);
PreparedShape workOf(const FilterTiling& tiling, const SingleShape& shape);

/// What a core multiplies for a single shape: one group that has the single shape's channels, because the caller's pointers are at
/// its group and channels; of dW also one image and one depth.
Problem problemOf(const InputTiling& tiling, const GradientTypes& types, const SingleShape& shape);
Problem problemOf(const FilterTiling& tiling, const GradientTypes& types, const SingleShape& shape);

/// The tiling's plan for it.
TilingPlan planOf(const InputTiling& tiling, const Problem& problem, const SingleShape& shape, const Machine& machine);
TilingPlan planOf(const FilterTiling& tiling, const Problem& problem, const SingleShape& shape, const Machine& machine);

/// Where the elements of a tensor lie, counted from where its group begins; all channels of the whole tensor are passed over.
IndexMap mapOf(const InputTiling& tiling, const GradientTypes& types, TensorId tensor);
IndexMap mapOf(const FilterTiling& tiling, const GradientTypes& types, TensorId tensor);

/// Whether a block of dX receives nothing although its depth does: where initOutputFlag is 1, no row of gradOutput is in reach.
bool receivesNoRow(const InputTiling& tiling, const SingleShape& shape, const CubeBlock& block);

/// Where GetTensorC writes a block, counted from where `output` begins. NCDHW has no padding channels: `channels` are those from
/// this core's first on that the tensor has.
Placement placeOf(const InputTiling& tiling, const SingleShape& shape, const CubeBlock& block, Layout layout,
                  std::int64_t channels);
Placement placeOf(const FilterTiling& tiling, const CubeBlock& block, bool sequential);

/// What of a block is kept. `offset`: elements from where the tensor begins to where `output` does; it tells the single shape's
/// channels, as the tensor's order is group, kernel depth, cin1, taps, cout, c0.
GroupMask maskOf(const FilterTiling& tiling, const CubeBlock& block, std::int64_t offset);

}  // namespace cubejit::ascendc
