// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when a TileProgram may be run: what interpreters and the runtime rely on without asking again.
// Leaves the rules themselves to the files behind tile/rules.h.
#pragma once

#include "codegen/tile/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// Checks that the parts fit together, that every call stays inside its buffers and writes no input, and that the tasks of a
/// phase do not touch what another one writes (see tile/rules.h for how far). The error (kInternal, kTile) lists every violation.
Status verify(const TileProgram& program);

}  // namespace cubejit
