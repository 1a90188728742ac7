// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a block of sums leaves L0C: which element of memory each is, its type there, adding or replacing. Chips with a fixpipe
// convert on the way; on others strips of 16 columns pass through UB, where the vector unit converts them.
#pragma once

#include "emulation/core_memory.h"
#include "emulation/out_code.h"

namespace cubejit {

/// Error if the view is null, ends before the block, or cannot be added to.
Result<BlockPlaces> placesOf(const CubeJob& job, const CoreTask& task, const CubeBlock& block,
                             const BlockTarget& target);

/// What an element of memory becomes: to f16 and bf16 rounded to nearest even.
void storeElement(DType type, std::byte* to, float value);
/// memory += value, f32, as one indivisible step.
void addAtomically(std::byte* to, float value);

/// Moves the block at `l0c` ([n1][m1 * 16][16] sums). Returns the number of elements written. With `code` by generated kernels.
std::int64_t moveOut(const CubeJob& job, const CubeBlock& block, std::int64_t l0c, const BlockTarget& target,
                     const BlockPlaces& places, CoreMemory& memory, const UnitCode* code = nullptr);
/// Writes zero to all its places.
std::int64_t zeroOut(const CubeBlock& block, const BlockTarget& target, const BlockPlaces& places, CoreMemory& memory,
                     const UnitCode* code = nullptr);

}  // namespace cubejit
