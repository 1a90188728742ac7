// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what programs of random fields look like, for readers and writers: few are sound.
#pragma once

#include <random>

#include "codegen/tile/program.h"

namespace cubejit {

/// Every field that equality reads varies, often by a constant distance from the one before; names have spaces, are equal, empty or words of
/// the text. Fields that a part's kind does not have keep their defaults.
TileProgram randomTileProgram(std::mt19937_64& random);

}  // namespace cubejit
