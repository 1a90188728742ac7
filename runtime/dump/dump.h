// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a gradient whose stages are at hand is written: for programs that run, which dump what they generate.
#pragma once

#include <string>

#include "cubejit/dump.h"
#include "runtime/compile.h"
#include "runtime/dump/gradient.h"

namespace cubejit {

/// A view of a compiled gradient; valid while both live.
GradientStages stagesOf(const CompiledGradient& part, const Machine& machine);

/// The folder's path; empty if no kernel's name fits the filter.
Result<std::string> dumpGradient(const GradientStages& stages, const DumpRequest& request, const Options& options);

}  // namespace cubejit
