// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a machine is spelled.
#include "runtime/tuning/fingerprint.h"

#include "runtime/cpu.h"

namespace cubejit {

std::string machineFingerprint(const Machine& machine) {
  static const std::string cpu = cpuName();
  const auto kib = [](std::int64_t bytes) { return std::to_string(bytes / 1024) + "K"; };
  return cpu + "/" + toString(machine.isa.level) + "/" + std::to_string(machine.cores) + "x/" +
         kib(machine.buffers.l0aBytes) + "-" + kib(machine.buffers.l1Bytes) + "-" + kib(machine.buffers.l2Bytes);
}

}  // namespace cubejit
