// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/loader/load_kernel.h"

#include <utility>

#include "codegen/lang/lower.h"

namespace cubejit {

Result<LoadedKernel> generateKernel(const std::string& text, const lang::Settings& settings, const Machine& machine,
                                    const Options& options) {
  if (machine.isEmulated())
    return Error{ErrorCode::kUnsupported, Stage::kTile,
                 "kernels of one's own run on hosts; leave the chip out of the options"};
  LoadedKernel kernel;
  CUBEJIT_TRY(source, lang::parse(text, settings));
  kernel.source = std::move(source);
  CUBEJIT_TRY(program, lang::lower(kernel.source, machine.isa));
  CUBEJIT_TRY(part, generate(std::move(program), PlanBackend::kSession, machine.isa, options));
  kernel.part = std::move(part);
  return kernel;
}

Result<LoadedKernel> loadKernel(const std::string& text, const lang::Settings& settings, const Machine& machine,
                                const Options& options) {
  CUBEJIT_TRY(kernel, generateKernel(text, settings, machine, options));
  CUBEJIT_TRY(code, loadPrograms({kernel.part.get()}, options));
  kernel.code = std::move(code);
  return std::move(kernel);
}

}  // namespace cubejit
