// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the arrow TilingPlan -> TileProgram: one gradient's plan becomes buffers, kernels, lists and loop nests.
#pragma once

#include "algorithms/cube/job.h"
#include "codegen/tile/program.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/result.h"

namespace cubejit {

/// What a host may do otherwise than a chip's cube. The sums are the same where emulation/exponent_range says so of the operands.
struct CubeShortcuts {
  /// Products that a stride of dX makes zero, where zerosAddNothing(), and rows that stand for no result. And, of whole programs, reading once
  /// more from L0 what the cube has read for another block.
  bool leavesOutZeros = false;
  bool pairs = false;  ///< bf16 is multiplied by dot products, where pairsAreExact()
  friend bool operator==(const CubeShortcuts& a, const CubeShortcuts& b) = default;
};

/// The program of a job on an NPU, for hosts whose vectors have so many lanes: faithful in every step that the chip takes. Its phases:
///   what must be zero first ("zero", "zero_sums"); "cube"; dW: "cast", the vector unit's.
/// Axes of "cube", dX: channels (real group, n), rows, image, depth, and summed_channels (k) within a task. dW: channels (real group, n, m),
/// kernel_depth, and sum (pixels, image, depth), which "part" may split, within a task.
/// `shortcuts`: not in those products.
Result<TileProgram> lower(const CubeJob& job, int lanes, const CubeShortcuts& shortcuts = {});

/// The program of db on an NPU, which has one way to compute it: one phase, "bias", of channels (tasks) and strips of pixels within a task.
Result<TileProgram> lowerCubeBias(const Problem& problem, const Machine& chip, int lanes);

/// Lowers a legal plan (checkPlan is empty) of a legal problem, on the host or on an NPU: `machine.isa` is the host's in both cases. Pure and deterministic.
Result<TileProgram> lower(const Problem& problem, const TilingPlan& plan, const Machine& machine);

}  // namespace cubejit
