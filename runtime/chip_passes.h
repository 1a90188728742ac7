// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what becomes of a chip's program where Options::forwardCopies asks for a fast one: products that a stride makes zero are left out,
// copies are forwarded. Leaves the passes to codegen/tile, which products to the lowering.
#pragma once

#include <optional>

#include "codegen/tile/program.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"
#include "cubejit/tensors.h"

namespace cubejit {

struct FastProgram {
  TileProgram tile;
  /// What runs instead where zeroAddsNothing() does not hold of the operands; none: `tile` always runs.
  std::optional<TileProgram> anyValues;
};

/// `lowered`: the faithful program of the plan. Nothing if no pass changes it.
Result<std::optional<FastProgram>> fastProgram(const TileProgram& lowered, const Problem& problem,
                                               const TilingPlan& plan, const Machine& chip);

/// The program that copies of FastProgram::tile were forwarded in.
Result<TileProgram> stagedProgram(const Problem& problem, const TilingPlan& plan, const Machine& chip);

/// Whether sums of dX are the same without the products that its stride makes zero, from the values of the operands: they are read once.
/// False for operands that are null.
bool zeroAddsNothing(const Problem& problem, const Tensors& tensors);

}  // namespace cubejit
