// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what happens when an executable has been loaded and its session is to tell about its work: dumps, listeners, log.
#pragma once

#include <memory>
#include <string>

#include "cubejit/cubejit.hpp"
#include "runtime/pipeline/compile.h"

namespace cubejit {

/// `given`, with what the environment says where it says nothing.
Result<Diagnostics> diagnosticsOf(const Diagnostics& given);

/// Dumps and announces the passes as state.options.diagnostics says; state.announced keeps what listeners were told. Asked for
/// and impossible is an error: nobody debugs with what is silently missing.
Status followLoad(Executable::State& state, const Machine& machine);

}  // namespace cubejit
