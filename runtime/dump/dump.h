// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a pass whose stages are at hand is written: for programs that run, which dump what they generate.
#pragma once

#include <string>

#include "cubejit/dump.h"
#include "runtime/dump/pass.h"
#include "runtime/pipeline/compile.h"

namespace cubejit {

/// A view of a compiled pass; valid while both live.
PassStages stagesOf(const CompiledPass& part, const Machine& machine);

/// The folder's path; empty if no kernel's name fits the filter.
Result<std::string> dumpPass(const PassStages& stages, const DumpRequest& request, const Options& options);

}  // namespace cubejit
