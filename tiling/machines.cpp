// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a name becomes a machine. Leaves the numbers to the table.
#include "cubejit/machines.h"

#include <algorithm>
#include <cctype>

#include "cubejit/machines/ascend_families.h"
#include "cubejit/machines/toy.h"
#include "tiling/no_throw.h"
#include "tiling/words.h"

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

// The chip that a family's name stands for. No public document names one, so all of them are ours: of the family's chips in the
// products' lists a common one with the most cores; 910b is the A2 that examples and defaults of the Ascend C faces are about.
// A name that is a chip's own means that chip: ascend310, and ascend910b, the older name of an Ascend910 with 30 cores; the family
// whose operators are configured as "ascend910b" is called 910b.
struct FamilyRow {
  const char* family;  ///< without "ascend", which may stand before it
  const char* chip;
};
constexpr FamilyRow kFamilyRows[] = {
    {"310", "Ascend310"},          {"310b", "Ascend310B1"},     {"310p", "Ascend310P3"},
    {"350", "Ascend350_355e"},     {"910", "Ascend910A"},       {"910b", "Ascend910B2"},
    {"910_93", "Ascend910_9391"},  {"950", "Ascend950PR_9599"}, {"950pr", "Ascend950PR_9599"},
    {"950dt", "Ascend950DT_9591"},
};

Machine machineOf(const AscendRow& row) {
  Machine m = ascendFamily(row.family);
  m.name = lowerCase(row.name);
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

// What tells one chip's lower-case name from another's.
std::string withoutMaker(const std::string& name) { return name.rfind("ascend", 0) == 0 ? name.substr(6) : name; }

}  // namespace

std::vector<std::string> machineNames() {
  std::vector<std::string> names;
  for (const AscendRow& row : kAscendRows) names.push_back(lowerCase(row.name));
  names.push_back(toyMachine().name);
  return names;
}

Result<Machine> machineByName(const std::string& name) {
  return withoutThrowing(Stage::kPlan, [&]() -> Result<Machine> {
    const std::string wanted = lowerCase(name);
    for (const AscendRow& row : kAscendRows) {
      if (lowerCase(row.name) == wanted) return machineOf(row);
    }
    if (toyMachine().name == wanted) return toyMachine();
    const std::string asked = withoutMaker(wanted);
    for (const FamilyRow& row : kFamilyRows) {
      if (asked == row.family) return machineByName(row.chip);
    }
    std::size_t best = 0;
    for (const std::string& known : machineNames()) best = std::max(best, sharedFront(withoutMaker(known), asked));
    std::string near;
    for (const std::string& known : machineNames()) {
      if (best > 0 && sharedFront(withoutMaker(known), asked) == best) near += (near.empty() ? "" : ", ") + known;
    }
    if (near.empty()) {
      for (const FamilyRow& row : kFamilyRows) near += (near.empty() ? "" : ", ") + std::string(row.family);
      near = "there are the families " + near + ", and their chips (`cubejit targets`)";
    } else {
      near = "near it are " + near;
    }
    return Error{ErrorCode::kUnsupported, Stage::kPlan, "no machine is called '" + name + "'; " + near};
  });
}

std::vector<std::string> machinesWith(DType type) {
  std::vector<std::string> names;
  for (const AscendRow& row : kAscendRows) {
    if (machineOf(row).npu.cube.product(type) != nullptr) names.push_back(lowerCase(row.name));
  }
  return names;
}

}  // namespace cubejit
