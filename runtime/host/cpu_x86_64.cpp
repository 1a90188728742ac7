// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an x86-64 CPU and its operating system can run.
#if defined(__x86_64__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "runtime/host/cpu.h"

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

struct Identity {
  std::string vendor;  // empty: the CPU does not say
  unsigned family = 0, model = 0, stepping = 0;
};

// CPUID leaves 0 and 1, as the vendors' manuals define them.
Identity identity() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) return {};
  char vendor[13] = {};
  std::memcpy(vendor, &ebx, 4);
  std::memcpy(vendor + 4, &edx, 4);
  std::memcpy(vendor + 8, &ecx, 4);
  __get_cpuid(1, &eax, &ebx, &ecx, &edx);
  Identity id{vendor, (eax >> 8) & 15U, (eax >> 4) & 15U, eax & 15U};
  if (id.family == 15 || id.family == 6) id.model += ((eax >> 16) & 15U) << 4;
  if (id.family == 15) id.family += (eax >> 20) & 255U;
  return id;
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
    if (__builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni")) {
      levels.push_back(IsaLevel::kAvx512Bf16);
      // No plan uses tiles unless it is asked for, so these are not the first.
      for (const IsaLevel level : {IsaLevel::kAvx512AmxFp16, IsaLevel::kAvx512Amx}) {
        if (missingTiles(level).empty()) levels.push_back(level);
      }
    }
    levels.push_back(IsaLevel::kAvx512);
  }
  if (avxState && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && hasF16Conversion())
    levels.push_back(IsaLevel::kAvx2);
  return levels;
}

// Bits: Intel's Software Developer's Manual, CPUID leaf 7 and XCR0; calls: Linux, Documentation/arch/x86/xstate.rst.
std::string missingTiles(IsaLevel level) {
  const MatrixUnit* unit = isaOf(level).matrixUnit();
  if (unit == nullptr) return {};
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kBf16 = 1U << 22, kTile = 1U << 24, kFp16 = 1U << 21;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & kTile) == 0 || (edx & kBf16) == 0)
    return "CPUID names no AMX-TILE and AMX-BF16";
  const bool f16 = unit->product(DType::kF16) != nullptr;
  if (f16 && (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0 || (eax & kFp16) == 0))
    return "CPUID names no AMX-FP16";
  constexpr std::uint64_t kTileState = 3U << 17;
  if ((savedState() & kTileState) != kTileState) return "XCR0: the operating system does not save tiles";
  unsigned long supported = 0;
  constexpr long kGetSupported = 0x1021;
  if (syscall(SYS_arch_prctl, kGetSupported, &supported) != 0 || (supported & kTileState) != kTileState)
    return "arch_prctl: Linux supports no tiles";
  return {};
}

std::string askForTiles() {
  constexpr long kRequest = 0x1023, kTileData = 18;
  if (syscall(SYS_arch_prctl, kRequest, kTileData) == 0) return {};
  return std::string("arch_prctl(ARCH_REQ_XCOMP_PERM): ") + std::generic_category().message(errno) +
         "; the alternate signal stack of a thread may be too small for tiles";
}

std::string cpuName() {
  const Identity id = identity();
  if (id.vendor.empty()) return "unknown";
  return id.vendor + "-" + std::to_string(id.family) + "-" + std::to_string(id.model) + "-" +
         std::to_string(id.stepping);
}

// Family 26 is Zen5. Its server and desktop models compute 512 bits at a time, the mobile ones between them 256. Family 25 is Zen3 where
// there is no AVX-512, else Zen4. Intel's cores with AVX512-FP16 are Golden Cove and those made from it; a virtual machine may give them
// any model's number.
HostCore findCore() {
  const Identity id = identity();
  if (id.vendor == "GenuineIntel" && __builtin_cpu_supports("avx512fp16")) return HostCore::kGoldenCove;
  if (id.vendor != "AuthenticAMD") return HostCore::kZen4;
  const bool wide = id.model < 0x20 || (id.model >= 0x40 && id.model < 0x50);
  if (id.family == 26 && wide) return HostCore::kZen5;
  return id.family == 25 && !__builtin_cpu_supports("avx512f") ? HostCore::kZen3 : HostCore::kZen4;
}

}  // namespace cubejit

#endif
