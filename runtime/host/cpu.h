// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the CPU is asked what it can run; one file answers for each architecture.
#pragma once

#include <string>
#include <vector>

#include "cubejit/machine.h"

namespace cubejit {

/// ISA levels CPU and operating system support, best first.
std::vector<IsaLevel> findRunnableIsas();

/// Which measured core this is, or is planned for as.
HostCore findCore();

/// Maker, model and revision as the CPU itself numbers them; the same on every CPU of one kind.
std::string cpuName();

}  // namespace cubejit
