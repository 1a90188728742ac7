// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a text in the kernel language becomes what can be run.
#pragma once

#include <memory>
#include <string>

#include "codegen/lang/parse.h"
#include "runtime/loader/load_programs.h"

namespace cubejit {

struct LoadedKernel {
  lang::Source source;
  LoadedCode code;
  std::unique_ptr<CompiledPass> part;
};

/// All of loadKernel() but loading: nothing can be run.
Result<LoadedKernel> generateKernel(const std::string& text, const lang::Settings& settings, const Machine& machine,
                                    const Options& options);

/// Parses, checks, lowers for the machine's ISA, and generates.
Result<LoadedKernel> loadKernel(const std::string& text, const lang::Settings& settings, const Machine& machine,
                                const Options& options);

}  // namespace cubejit
