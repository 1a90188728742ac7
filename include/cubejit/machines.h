// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how NPUs are found by name or file and which rules a machine of the caller's own must keep. Leaves the numbers to
// a table that is not installed, machines/ beside this file in the sources.
#pragma once

#include <string>
#include <vector>

#include "cubejit/export.h"
#include "cubejit/machine.h"
#include "cubejit/result.h"

namespace cubejit {

/// Names of all NPUs, lower case, in the order of the table: "ascend310", ..., "toy".
CUBEJIT_API std::vector<std::string> machineNames();

/// The NPU of that name, or that a family's name stands for ("ascend950", "910b", ...; the table is in tiling/machines.cpp); case does
/// not matter. kUnsupported names the nearest ones, or the families where none is near.
CUBEJIT_API Result<Machine> machineByName(const std::string& name);

/// The NPU of that name, or, if there is a '/' or '.' in it, of a file: one machine as JSON, as `cubejit targets --soc NAME` prints it.
/// Errors: those of machineByName(), kIo, every rule that the machine in the file breaks.
CUBEJIT_API Result<Machine> readMachine(const std::string& nameOrFile);

/// Names of the machines whose cube has the type.
CUBEJIT_API std::vector<std::string> machinesWith(DType type);

/// Every rule an NPU of the caller's breaks, with values and a fix; empty = it can be planned for.
CUBEJIT_API std::vector<std::string> checkMachine(const Machine& machine);

}  // namespace cubejit
