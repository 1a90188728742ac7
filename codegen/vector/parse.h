// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which texts are VectorPrograms: those that print() writes, however they are spaced. Leaves to vector/verify whether a program is sound.
#pragma once

#include <string_view>

#include "codegen/vector/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// The program of a text. Errors (kVector) name line, column and what was expected there; kUnsupported if the text is of another version.
Result<VectorProgram> parseVectorProgram(std::string_view text);

}  // namespace cubejit
