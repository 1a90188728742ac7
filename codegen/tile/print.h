// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the text form of a TileProgram, for people and goldens.
#pragma once

#include <string>

#include "codegen/tile/program.h"

namespace cubejit {

/// Stable text. `full` spells every step of every contract; otherwise contracts are summarised.
std::string print(const TileProgram& program, bool full = false);

}  // namespace cubejit
