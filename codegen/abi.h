// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the calling convention of generated code: one pointer to KernelArgs in rdi (System V), no return value.
// The kernel preserves rbx, rbp, r12-r15 and MXCSR, may clobber all vector and mask registers, and ends with vzeroupper.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cubejit {

/// What a kernel is called with. Field i is argument slot i of a VectorProgram (8 bytes each).
struct KernelArgs {
  const void* a = nullptr;             ///< slot 0
  const void* b = nullptr;             ///< slot 1
  void* c = nullptr;                   ///< slot 2
  const std::int64_t* list = nullptr;  ///< slot 3: counts per section, then segments (see tile/contract.h)
  std::int64_t repeat = 1;             ///< slot 4
  std::int64_t aRepeat = 0;            ///< slot 5: bytes added to a after each repetition
  std::int64_t bRepeat = 0;            ///< slot 6
  std::int64_t cRepeat = 0;            ///< slot 7
  std::int64_t accumulate = 0;         ///< slot 8: 1 = start from what is in C, 0 = start from zero
  void* d = nullptr;                   ///< slot 9: where copies of B's vectors go, for contracts that make some
};

enum class ArgSlot : std::uint8_t { kA, kB, kC, kList, kRepeat, kARepeat, kBRepeat, kCRepeat, kAccumulate, kD };
inline constexpr int kArgSlots = 10;
static_assert(sizeof(KernelArgs) == kArgSlots * 8);

using KernelFunction = void (*)(const KernelArgs*);

}  // namespace cubejit
