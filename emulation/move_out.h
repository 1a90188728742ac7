// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a block of sums leaves L0C: which element of memory each is, its type there, adding or replacing. Chips with a fixpipe
// convert on the way; on others strips of 16 columns pass through UB, where the vector unit converts them.
#pragma once

#include <vector>

#include "emulation/core_memory.h"
#include "emulation/operand_tables.h"
#include "emulation/unit_code.h"

namespace cubejit {

/// Where the elements of a block go: element offset = row[m] + column[n], unless either is kMissing or the pair is no pair.
struct BlockPlaces {
  std::vector<std::int64_t> row, column;
  // dW with several groups of the problem in a real group: o and i of one group only.
  std::vector<std::int64_t> rowGroup, columnGroup;
  bool exists(std::size_t m, std::size_t n) const {
    return row[m] != kMissing && column[n] != kMissing && (rowGroup.empty() || rowGroup[m] == columnGroup[n]);
  }
};

/// Error if the view is null, ends before the block, or cannot be added to.
Result<BlockPlaces> placesOf(const CubeJob& job, const CoreTask& task, const CubeBlock& block,
                             const BlockTarget& target);

/// What an element of memory becomes: to f16 and bf16 rounded to nearest even.
void storeElement(DType type, std::byte* to, float value);
/// memory += value, f32, as one indivisible step.
void addAtomically(std::byte* to, float value);

/// Moves the block at `l0c` ([n1][m1 * 16][16] sums). Returns the number of elements written.
/// With `code` strips whose columns or rows lie together in memory are converted by generated kernels.
std::int64_t moveOut(const CubeJob& job, const CubeBlock& block, std::int64_t l0c, const BlockTarget& target,
                     const BlockPlaces& places, CoreMemory& memory, const UnitCode* code = nullptr);
/// Writes zero to all its places.
std::int64_t zeroOut(const CubeBlock& block, const BlockTarget& target, const BlockPlaces& places);

}  // namespace cubejit
