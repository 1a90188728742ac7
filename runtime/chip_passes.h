// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what becomes of a chip's program where Options::forwardCopies asks for a fast one: products that a stride makes zero are left out,
// bf16 is multiplied in pairs, copies are forwarded. Leaves the passes to codegen/tile, what is multiplied to the lowering.
#pragma once

#include <vector>

#include "cubejit/machine.h"
#include "cubejit/tensors.h"
#include "runtime/generate.h"

namespace cubejit {

/// The forms of the plans' programs: those of the host, and of a chip without forwardCopies, are what they were.
Result<std::vector<ProgramForms>> formsOf(std::vector<TileProgram> lowered, const Problem& problem,
                                          const std::vector<TilingPlan>& plans, const Machine& machine,
                                          const Options& options);

/// The program that copies of a fast one were forwarded in.
Result<TileProgram> stagedProgram(const Problem& problem, const TilingPlan& plan, const Machine& chip);

/// Whether sums of a fast program are those of the faithful one, from the values of the operands: they are read once, whole tensors, gaps of
/// strided ones included. False if one of them is null.
bool valuesAllow(const Problem& problem, const TilingPlan& plan, const Machine& chip, const Tensors& tensors);

}  // namespace cubejit
