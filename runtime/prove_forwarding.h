// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which programs of a gradient are proven before --fast is believed: distinct steps of tasks spread over the gradient, by both
// interpreters. Leaves what a proof is to emulation/forward_proof.
#pragma once

#include "cubejit/options.h"
#include "emulation/cube_core.h"

namespace cubejit {

/// How many distinct steps (two moves and their Mmad) were proven, `most` at most. Error: the first that differs.
Result<std::int64_t> proveForwarding(const CubeJob& job, const Options& options, std::int64_t most);

}  // namespace cubejit
