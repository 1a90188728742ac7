// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how it is shown that the transform that elides copies leaves every operand where it was: both programs run on memory whose elements
// are told apart by their bits, products left out, and what every contract reads and what leaves the private buffers must be the same.
#pragma once

#include <cstdint>

#include "cubejit/result.h"
#include "runtime/loader/generate.h"

namespace cubejit {

/// Runs tasks of each phase, from all over, until `most` contracts have been compared; the program whose copies were elided by the tile
/// interpreter, that of the transform by both interpreters. Returns how many contracts were compared; 0 where no transform has changed anything.
/// `options` are those it was compiled with.
/// Error (kInternal): the first difference, with phase, task, call and byte; those of lowering.
Result<std::int64_t> proveElision(const CompiledPass& part, const Machine& chip, const Options& options,
                                  std::int64_t most);

}  // namespace cubejit
