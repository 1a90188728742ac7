// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an x86-64 CPU and its operating system can run.
#if defined(__x86_64__)

#include <cpuid.h>

#include <cstdint>
#include <cstring>

#include "runtime/cpu.h"

namespace cubejit {
namespace {

// Extended control register 0: which register files the operating system saves.
std::uint64_t savedState() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & (1U << 27)) == 0) return 0;
  unsigned lo = 0, hi = 0;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return (static_cast<std::uint64_t>(hi) << 32) | lo;
}

bool hasF16Conversion() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

std::vector<IsaLevel> findRunnableIsas() {
  std::vector<IsaLevel> levels;
  const std::uint64_t saved = savedState();
  const bool avxState = (saved & 0x6) == 0x6, zmmState = (saved & 0xe6) == 0xe6;
  if (zmmState && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    if (__builtin_cpu_supports("avx512bf16")) levels.push_back(IsaLevel::kAvx512Bf16);
    levels.push_back(IsaLevel::kAvx512);
  }
  if (avxState && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && hasF16Conversion())
    levels.push_back(IsaLevel::kAvx2);
  return levels;
}

// CPUID leaves 0 and 1, as the vendors' manuals define them.
std::string cpuName() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) return "unknown";
  char vendor[13] = {};
  std::memcpy(vendor, &ebx, 4);
  std::memcpy(vendor + 4, &edx, 4);
  std::memcpy(vendor + 8, &ecx, 4);
  __get_cpuid(1, &eax, &ebx, &ecx, &edx);
  unsigned family = (eax >> 8) & 15U, model = (eax >> 4) & 15U;
  const unsigned stepping = eax & 15U;
  if (family == 15 || family == 6) model += ((eax >> 16) & 15U) << 4;
  if (family == 15) family += (eax >> 20) & 255U;
  return std::string(vendor) + "-" + std::to_string(family) + "-" + std::to_string(model) + "-" +
         std::to_string(stepping);
}

}  // namespace cubejit

#endif
