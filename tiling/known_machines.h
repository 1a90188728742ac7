// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how one goes through the machines there are.
#pragma once

#include <new>
#include <vector>

#include "cubejit/machines.h"

namespace cubejit {

/// In the order of machineNames(). Their names are known, so only memory can be missing: throws std::bad_alloc.
inline std::vector<Machine> knownMachines() {
  std::vector<Machine> machines;
  for (const std::string& name : machineNames()) {
    auto machine = machineByName(name);
    if (!machine.ok()) throw std::bad_alloc();
    machines.push_back(*machine);
  }
  return machines;
}

}  // namespace cubejit
