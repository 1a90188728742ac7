// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the text form of a TileProgram, for people and goldens. Stable: equal programs give equal texts.
#pragma once

#include <string>

#include "codegen/tile/program.h"

namespace cubejit {

enum class Detail : std::uint8_t {
  kSummary,  ///< what there is and how often; long enumerations are cut short and say so
  kFull      ///< everything the program says
};

std::string print(const TileProgram& program, Detail detail = Detail::kSummary);

/// "set MTE1_M:0": as hardware events are called.
std::string print(const UnitFlag& flag);

/// One kernel: a line that says what it is, then indented lines for its parts.
std::string print(const Kernel& kernel, Detail detail);

}  // namespace cubejit
