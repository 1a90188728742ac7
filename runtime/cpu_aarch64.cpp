// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an AArch64 CPU and its operating system can run. Every one has NEON; SVE counts at the width code is made for.
#if defined(__aarch64__)

#include <sys/auxv.h>
#include <sys/prctl.h>

#include "runtime/cpu.h"

namespace cubejit {

std::vector<IsaLevel> findRunnableIsas() {
  constexpr unsigned long kSve = 1UL << 22;  // HWCAP_SVE; Linux, arch/arm64/include/uapi/asm/hwcap.h
  std::vector<IsaLevel> levels;
  const int length = (getauxval(AT_HWCAP) & kSve) != 0 ? prctl(PR_SVE_GET_VL) : -1;
  if (length >= 0 && (length & PR_SVE_VL_LEN_MASK) * 8 == sve256Isa().vectorBits) levels.push_back(IsaLevel::kSve256);
  levels.push_back(IsaLevel::kNeon);
  return levels;
}

}  // namespace cubejit

#endif
