// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an AArch64 CPU and its operating system can run. Every one has NEON; SVE counts at the width code is made for.
#if defined(__aarch64__)

#include <sys/auxv.h>
#include <sys/prctl.h>

#include <cstdint>

#include "runtime/host/cpu.h"

namespace cubejit {

std::string missingTiles(IsaLevel level) {
  return isaOf(level).matrixUnit() == nullptr ? "" : "this is an AArch64 CPU";
}

std::string askForTiles() { return "this is an AArch64 CPU"; }

std::vector<IsaLevel> findRunnableIsas() {
  constexpr unsigned long kSve = 1UL << 22;  // HWCAP_SVE; Linux, arch/arm64/include/uapi/asm/hwcap.h
  std::vector<IsaLevel> levels;
  const int length = (getauxval(AT_HWCAP) & kSve) != 0 ? prctl(PR_SVE_GET_VL) : -1;
  if (length >= 0 && (length & PR_SVE_VL_LEN_MASK) * 8 == sve256Isa().vectorBits) levels.push_back(IsaLevel::kSve256);
  levels.push_back(IsaLevel::kNeon);
  return levels;
}

// The main identification register, which Linux lets programs read (Documentation/arch/arm64/cpu-feature-registers.rst).
std::string cpuName() {
  constexpr unsigned long kCpuId = 1UL << 11;  // HWCAP_CPUID
  if ((getauxval(AT_HWCAP) & kCpuId) == 0) return "aarch64-unknown";
  std::uint64_t id = 0;
  __asm__("mrs %0, MIDR_EL1" : "=r"(id));
  const std::uint64_t maker = id >> 24 & 255, variant = id >> 20 & 15, part = id >> 4 & 4095, revision = id & 15;
  return "aarch64-" + std::to_string(maker) + "-" + std::to_string(part) + "-" + std::to_string(variant) + "-" +
         std::to_string(revision);
}

HostCore findCore() { return HostCore::kZen4; }  // none was measured

}  // namespace cubejit

#endif
