// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a program whose stages are at hand is written: for those that run, which dump what they generate, and for kernels in the kernel
// language.
#pragma once

#include <string>

#include "codegen/lang/parse.h"
#include "cubejit/dump.h"
#include "runtime/dump/pass.h"
#include "runtime/pipeline/compile.h"

namespace cubejit {

/// A view of a compiled pass; valid while both live.
PassStages stagesOf(const CompiledPass& part, const Machine& machine);

/// The folder's path; empty if no kernel's name fits the filter.
Result<std::string> dumpPass(const PassStages& stages, const DumpRequest& request, const Options& options);

/// The same of a kernel in the kernel language, which is generated for it. Errors: also those of the text and its parameters.
Result<std::string> dumpKernel(const std::string& text, const lang::Settings& parameters, const DumpRequest& request,
                               const Machine& machine, Options options);

}  // namespace cubejit
