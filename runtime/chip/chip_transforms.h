// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a host's program of a chip does otherwise than the chip, to the same bits: bf16 is multiplied in pairs, and, where
// Options::elideCopies asks for a fast one, products that a stride makes zero are left out and copies are elided. Leaves the transforms to
// codegen/tile, what is multiplied to the lowering.
#pragma once

#include <vector>

#include "algorithms/lower.h"
#include "cubejit/machine.h"
#include "cubejit/tensors.h"
#include "emulation/exponent_range.h"
#include "runtime/loader/generate.h"

namespace cubejit {

/// The forms of the plans' programs: those of the host, and of a chip without elideCopies, are what they were.
Result<std::vector<ProgramForms>> formsOf(std::vector<TileProgram> lowered, const Problem& problem,
                                          const std::vector<TilingPlan>& plans, const Machine& machine,
                                          const Options& options);

/// The program that transforms change, or that runs as it is if the options do not ask for a fast one.
Result<TileProgram> stagedProgram(const Problem& problem, const TilingPlan& plan, const Machine& chip,
                                  const Options& options);

/// What is wanted of operands of a type on such a host.
CubeShortcuts shortcutsOf(DType operand, IsaLevel level, bool fast);
/// What of it the values of all elements of dy and of the other operand allow.
CubeShortcuts allowedOf(const CubeShortcuts& wanted, const Problem& problem, Pass pass, const ExponentRange& dy,
                        const ExponentRange& other);
/// Whether that is a question of values at all.
bool asksValues(const CubeShortcuts& wanted, const Problem& problem, Pass pass);

/// Elides copies of cubes' programs.
TileProgram withoutCopies(TileProgram program);

/// Whether sums of a program with all that is wanted are those of one without, from the values of the operands: they are read once, whole
/// tensors, gaps of strided ones included.
bool valuesAllow(const Problem& problem, const TilingPlan& plan, const Machine& chip, bool fast,
                 const Tensors& tensors);

}  // namespace cubejit
