// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the last arrow, from code to what can be run: neighbours of one backend are mapped together, and every kernel's call finds
// its function, or the interpreter where the backend makes no code. Leaves mapping itself to the backend.
#pragma once

#include <memory>
#include <vector>

#include "cubejit/machine.h"
#include "cubejit/options.h"
#include "cubejit/result.h"
#include "runtime/loader/generate.h"
#include "runtime/loader/loaded_code.h"

namespace cubejit {

/// Fills in `launch` of each. The code is theirs together and must live as long as they do.
Result<LoadedCode> loadPrograms(const std::vector<CompiledPass*>& programs, const Options& options);

/// A program that stands alone, ready to run; `code` holds its kernels and must live as long.
Result<std::unique_ptr<CompiledPass>> compileProgram(TileProgram tile, const Machine& machine, const Options& options,
                                                     LoadedCode& code);

}  // namespace cubejit
