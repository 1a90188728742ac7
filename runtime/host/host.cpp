// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what this machine is: cache sizes, usable threads. Leaves ISA levels to the file of the CPU's architecture.
// The number of cores plans are made for is the machine's, not the process': plans must not change with the affinity.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "codegen/text/text_stream.h"
#include "cubejit/cubejit.hpp"
#include "runtime/host/cgroup.h"
#include "runtime/host/cpu.h"

namespace cubejit {
namespace {

std::int64_t cacheBytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string dir = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream levelFile(dir + "level"), typeFile(dir + "type"), sizeFile(dir + "size");
    int found = 0;
    std::string type, size;
    if (!(levelFile >> found) || !(typeFile >> type) || !(sizeFile >> size)) continue;
    if (found != level || type == "Instruction" || size.empty()) continue;
    const std::int64_t unit = size.back() == 'K' ? 1024 : size.back() == 'M' ? 1024 * 1024 : 1;
    return std::strtoll(size.c_str(), nullptr, 10) * unit;
  }
  return 0;
}

double cgroupQuota() {
  std::ifstream membership("/proc/self/cgroup");
  TextStream text;
  text << membership.rdbuf();
  return cgroupCpus(text.str(), "/sys/fs/cgroup");
}

}  // namespace

std::vector<IsaLevel> runnableIsas() {
  static const std::vector<IsaLevel> levels = findRunnableIsas();  // asking the CPU leaves a virtual machine: ask once
  return levels;
}

std::atomic<bool>& tilesAreImitated() {
  static std::atomic<bool> imitated{false};
  return imitated;
}

Status checkRunnable(IsaLevel level) {
  const bool tiles = isaOf(level).matrixUnit() != nullptr;
  if (tiles && tilesAreImitated()) return Unit{};
  const std::vector<IsaLevel> runnable = runnableIsas();
  const bool supported = std::find(runnable.begin(), runnable.end(), level) != runnable.end();
  const auto permission = [] {
    static const std::string refused = askForTiles();
    return refused;
  };
  const std::string missing = !supported ? missingTiles(level) : tiles ? permission() : "";
  if (supported && missing.empty()) return Unit{};
  return Error{ErrorCode::kUnsupported, Stage::kLoad,
               std::string("this CPU or operating system cannot run ") + toString(level) + " code" +
                   (missing.empty() ? "" : ": " + missing) + "; it can be planned and dumped, or interpreted"};
}

int defaultThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus = 1;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) cpus = std::max(1, CPU_COUNT(&set));
  const double quota = cgroupQuota();
  return quota > 0 ? std::min(cpus, std::max(1, static_cast<int>(std::ceil(quota)))) : cpus;
}

Machine detectHost(IsaLevel level) {
  // Files of the system say it, and the CPU, which leaves a virtual machine for that: ask once.
  static const HostCore core = findCore();
  static const int installed = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  static const std::array<std::int64_t, 3> caches{cacheBytes(1), cacheBytes(2), cacheBytes(3)};
  return hostMachine(isaOf(level), installed, caches[0], caches[1], caches[2], core);
}

}  // namespace cubejit
