// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a machine is spelled.
#include "runtime/tuning/fingerprint.h"

#include <string_view>

#include "cubejit/cubejit.hpp"
#include "runtime/host/cpu.h"
#include "runtime/text/json_machine.h"
#include "runtime/tuning/digest.h"

namespace cubejit {
namespace {

constexpr std::string_view kModel = "model/", kEmulated = "emulated/";

std::string chipText(const Machine& chip) {
  const std::string numbers = machineToJson(chip);
  Digest digest;
  digest.add(numbers.data(), numbers.size());
  return chip.name + "/" + digest.text();
}

}  // namespace

std::string machineFingerprint(const Machine& machine) {
  if (machine.isEmulated()) return std::string(kModel) + chipText(machine);
  static const std::string cpu = cpuName();
  const auto kib = [](std::int64_t bytes) { return std::to_string(bytes / 1024) + "K"; };
  return cpu + "/" + toString(machine.isa.level) + "/" + std::to_string(machine.cores) + "x/" +
         kib(machine.buffers.l0aBytes) + "-" + kib(machine.buffers.l1Bytes) + "-" + kib(machine.buffers.l2Bytes);
}

std::string emulationFingerprint(const Machine& chip, bool elideCopies) {
  return std::string(kEmulated) + chipText(chip) + (elideCopies ? "/fast/" : "/faithful/") +
         machineFingerprint(detectHost(chip.isa.level));
}

std::string planningFingerprint(const std::string& fingerprint) {
  if (fingerprint.compare(0, kEmulated.size(), kEmulated) != 0) return fingerprint;
  const std::size_t digest = fingerprint.find('/', kEmulated.size()) + 1;
  return std::string(kModel) + fingerprint.substr(kEmulated.size(), fingerprint.find('/', digest) - kEmulated.size());
}

}  // namespace cubejit
