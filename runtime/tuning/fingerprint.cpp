// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a machine is spelled. Asks the CPU for its name (CPUID leaves 0 and 1, as the vendors' manuals define them).
#include "runtime/tuning/fingerprint.h"

#include <cpuid.h>

#include <cstring>

namespace cubejit {
namespace {

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

}  // namespace

std::string machineFingerprint(const Machine& machine) {
  static const std::string cpu = cpuName();
  const auto kib = [](std::int64_t bytes) { return std::to_string(bytes / 1024) + "K"; };
  return cpu + "/" + toString(machine.isa.level) + "/" + std::to_string(machine.cores) + "x/" +
         kib(machine.buffers.l0aBytes) + "-" + kib(machine.buffers.l1Bytes) + "-" + kib(machine.buffers.l2Bytes);
}

}  // namespace cubejit
