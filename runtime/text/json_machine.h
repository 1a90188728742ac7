// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the JSON form of NPUs. Leaves which numbers make sense to checkMachine.
#pragma once

#include <string>

#include "cubejit/machine.h"
#include "cubejit/result.h"

namespace cubejit {

/// One object, as machineToJson writes it; `product`, `architecture`, `memory_bytes` and `limits` may be missing. Every broken
/// rule is reported.
Result<Machine> machineFromJson(const std::string& text);
std::string machineToJson(const Machine& machine);

}  // namespace cubejit
