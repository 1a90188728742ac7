// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/exec/program_memory.h"

#include <random>
#include <string>
#include <utility>

#include "codegen/tile/element.h"

namespace cubejit {

Result<ProgramMemory> ProgramMemory::of(const std::vector<Buffer>& buffers, std::uint64_t seed) {
  ProgramMemory all;
  std::mt19937_64 random(seed);
  for (const Buffer& buffer : buffers) {
    if (!buffer.isCallers()) continue;
    AlignedMemory memory = alignedMemory(static_cast<std::size_t>(buffer.bytes));
    if (memory == nullptr)
      return Error{ErrorCode::kLimitExceeded, Stage::kRun,
                   "no memory for the " + std::to_string(buffer.bytes) + " bytes of " + buffer.name};
    char* const bytes = static_cast<char*>(static_cast<void*>(memory.get()));
    for (std::int64_t at = 0; at < buffer.bytes; at += elementBytes(buffer.element)) {
      const float value = (static_cast<float>(random() >> 40) * 0x1p-23F - 1) * (isInteger(buffer.element) ? 128 : 1);
      writeElement(buffer.element, bytes + at, bitsOf(value));
    }
    all.addresses_.push_back(bytes);
    all.memory_.push_back(std::move(memory));
  }
  return all;
}

}  // namespace cubejit
