// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which chip the Ascend C faces mean where a program names none. Leaves names to cubejit/machines.h. C++17.
#pragma once

#include <string>

#include "cubejit/export.h"
#include "cubejit/machine.h"
#include "cubejit/result.h"

namespace cubejit::ascendc {

/// What is meant where neither the program nor CUBEJIT_SOC says anything.
inline constexpr const char* kUsualChip = "ascend910b2";

/// The chip of that name or family. Empty: what CUBEJIT_SOC says, unless that is "host"; else kUsualChip. Errors: those of
/// machineByName(), and every variable of the environment with a value that it does not have. Thread-safe.
CUBEJIT_API Result<Machine> chipOf(const std::string& name);

}  // namespace cubejit::ascendc
