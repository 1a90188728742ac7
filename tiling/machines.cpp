// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a name becomes a machine. Leaves the numbers to the table.
#include "cubejit/machines.h"

#include <algorithm>
#include <cctype>

#include "cubejit/machines/ascend_families.h"
#include "cubejit/machines/toy.h"

namespace cubejit {
namespace {

struct AscendRow {
  const char* name;
  AscendFamily family;
  int cores, vectorCores;
  double mhz;
  std::int64_t memoryBytes, l2Bytes;
  double ddrRead, ddrWrite;
};

constexpr AscendRow kAscendRows[] = {
#define CUBEJIT_ASCEND(name, family, cores, vectorCores, mhz, memory, l2, ddrRead, ddrWrite) \
  {name, AscendFamily::family, cores, vectorCores, mhz, memory, l2, ddrRead, ddrWrite},
#include "cubejit/machines/ascend.def"
#undef CUBEJIT_ASCEND
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Machine machineOf(const AscendRow& row) {
  Machine m = ascendFamily(row.family);
  m.name = lower(row.name);
  m.cores = row.cores;
  m.buffers.l2Bytes = row.l2Bytes;
  m.npu.vectorCores = row.vectorCores;
  m.npu.mhz = row.mhz;
  m.npu.memoryBytes = row.memoryBytes;
  m.npu.paths.ddrRead = row.ddrRead;
  m.npu.paths.ddrWrite = row.ddrWrite;
  return m;
}

// How many characters two words share from the front: enough to find what was meant.
std::size_t sharedFront(const std::string& a, const std::string& b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return n;
}

}  // namespace

std::vector<std::string> machineNames() {
  std::vector<std::string> names;
  for (const AscendRow& row : kAscendRows) names.push_back(lower(row.name));
  names.push_back(toyMachine().name);
  return names;
}

Result<Machine> machineByName(const std::string& name) {
  const std::string wanted = lower(name);
  for (const AscendRow& row : kAscendRows) {
    if (lower(row.name) == wanted) return machineOf(row);
  }
  if (toyMachine().name == wanted) return toyMachine();
  std::size_t best = 0;
  for (const std::string& known : machineNames()) best = std::max(best, sharedFront(known, wanted));
  std::string near;
  for (const std::string& known : machineNames()) {
    if (best > 0 && sharedFront(known, wanted) == best) near += (near.empty() ? "" : ", ") + known;
  }
  return Error{ErrorCode::kUnsupported, Stage::kPlan,
               "no machine is called '" + name + "'" + (near.empty() ? "" : "; near it are " + near)};
}

std::vector<std::string> machinesWith(DType type) {
  std::vector<std::string> names;
  for (const AscendRow& row : kAscendRows) {
    if (machineOf(row).npu.step(type) != nullptr) names.push_back(lower(row.name));
  }
  return names;
}

}  // namespace cubejit
