// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a machine is spelled.
#include "runtime/tuning/fingerprint.h"

#include "runtime/cpu.h"

#include "runtime/json_machine.h"
#include "runtime/tuning/digest.h"

namespace cubejit {

std::string machineFingerprint(const Machine& machine) {
  if (machine.isNpu()) {
    const std::string numbers = machineToJson(machine);
    Digest digest;
    digest.add(numbers.data(), numbers.size());
    return "model/" + machine.name + "/" + digest.text();
  }
  static const std::string cpu = cpuName();
  const auto kib = [](std::int64_t bytes) { return std::to_string(bytes / 1024) + "K"; };
  return cpu + "/" + toString(machine.isa.level) + "/" + std::to_string(machine.cores) + "x/" +
         kib(machine.buffers.l0aBytes) + "-" + kib(machine.buffers.l1Bytes) + "-" + kib(machine.buffers.l2Bytes);
}

}  // namespace cubejit
