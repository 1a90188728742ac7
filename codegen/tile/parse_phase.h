// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which lines are a phase.
#pragma once

#include "codegen/text/reader.h"
#include "codegen/tile/part_names.h"
#include "codegen/tile/program.h"

namespace cubejit {

/// Reads one from its name on, up to the next phase or the end. Fails on `in`.
Phase readPhase(TextReader& in, const ProgramNames& names);

}  // namespace cubejit
