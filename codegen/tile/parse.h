// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which texts are TilePrograms: those that print(program, Detail::kFull) writes, however they are spaced; only what is in a loop or
// a choice stands further to the right than that. `;` begins a comment. Leaves to tile/verify whether a program is sound.
#pragma once

#include <string_view>

#include "codegen/tile/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// The program of a text. Errors (kTile) name line, column and what was expected there; kUnsupported if the text is of another version,
/// kLimitExceeded if its repetitions stand for more than memory is made for.
Result<TileProgram> parseTileProgram(std::string_view text);

}  // namespace cubejit
