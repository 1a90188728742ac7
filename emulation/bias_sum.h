// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how db is computed on a chip: no product, so the vector unit adds up dy, one block of c0 channels a task, in strips of
// pixels that pass through UB. Leaves threads to the runtime.
#pragma once

#include "emulation/core_memory.h"
#include "emulation/operand_tables.h"
#include "emulation/unit_code.h"

namespace cubejit {

struct BiasSum {
  Problem problem;
  Machine machine;
  std::int64_t c0 = 16;
  std::int64_t tasks() const { return (problem.cout + c0 - 1) / c0; }
};

/// Errors: a machine without vector unit's memory for one strip, with both byte counts.
Result<BiasSum> makeBiasSum(const Problem& problem, const Machine& machine);

/// Sums a block of channels over images and pixels, in the order n, d, h, w, in f32, and writes them to db. Counts are added.
/// `code`: kernels for dy's type (f32 for HF32); without, plain loops do the same.
void runBiasTask(const BiasSum& job, const GlobalView& dy, const GlobalView& db, std::int64_t task, CoreMemory& memory,
                 CoreCounts& counts, const UnitCode* code = nullptr);

}  // namespace cubejit
