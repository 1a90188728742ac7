// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides on which data a program runs that nobody gave any: memory for each input and output, filled with random numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/tile/caller_buffers.h"
#include "codegen/tile/program.h"
#include "cubejit/result.h"
#include "runtime/host/aligned_memory.h"

namespace cubejit {

class ProgramMemory {
 public:
  /// Numbers are in [-1, 1), the same for the same buffers and seed. kLimitExceeded without memory.
  static Result<ProgramMemory> of(const std::vector<Buffer>& buffers, std::uint64_t seed);

  const CallerBuffers& addresses() const { return addresses_; }

 private:
  std::vector<AlignedMemory> memory_;
  CallerBuffers addresses_;
};

}  // namespace cubejit
