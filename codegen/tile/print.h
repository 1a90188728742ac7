// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the text form of a TileProgram, for people, goldens and tile/parse. Stable: equal programs give equal texts.
#pragma once

#include <string>

#include "codegen/tile/program.h"

namespace cubejit {

inline constexpr int kTileTextVersion = 1;

enum class Detail : std::uint8_t {
  kSummary,  ///< what there is and how often; long enumerations are cut short with "...", which is not read back
  kFull      ///< everything the program says: parseTileProgram() makes it again
};

std::string print(const TileProgram& program, Detail detail = Detail::kSummary);

/// One kernel: a line that says what it is, then indented lines for its parts.
std::string print(const Kernel& kernel, Detail detail);

}  // namespace cubejit
