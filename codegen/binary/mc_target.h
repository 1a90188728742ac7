// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what LLVM's machine-code layer is told about code that is read back, written and simulated: one row an ISA level.
#pragma once

#include <string>
#include <vector>

#include "cubejit/host_isa.h"

namespace cubejit {

struct McTarget {
  const char* triple;
  const char* features;  ///< without which the code's instructions are unknown, and a CPU cannot run it
  std::vector<std::string>
      cpus;  ///< models worth asking how fast code is: LLVM's names, the one plans are made for first
};

/// Makes LLVM's target known as well; may be called as often as one likes, from any thread.
const McTarget& mcTargetOf(const HostIsa& isa);

}  // namespace cubejit
