// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how code for AMX runs on CPUs without it: each of its instructions raises SIGILL there, and a handler does what it says. The bytes
// are those that a CPU with AMX runs. Shares nothing with the interpreter that it is compared with. Never part of a product.
#pragma once

#include <string>

namespace cubejit {

/// Whether tile instructions run in this process: by the CPU, with the system's permission, or by the handler, which the first call installs.
/// The handler needs AVX-512.
bool tilesRun();

/// What broke a rule of the architecture since the last call, for which a CPU would fault; empty: nothing.
std::string takeTileFaults();

}  // namespace cubejit
