// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/loader/load_programs.h"

#include <utility>

#include "codegen/tile/interpret.h"
#include "codegen/vector/interpret.h"
#include "runtime/loader/backends.h"

namespace cubejit {
namespace {

KernelRunner runnerFor(const CompiledPass& part, const LoadedCode& code, std::size_t firstKernel, BackendKind backend) {
  KernelRunner runner;
  runner.functions.assign(part.tile.kernels.size(), nullptr);
  runner.user = &part;
  if (emitsCode(backend)) {
    for (std::size_t k = 0; k < part.codes.size(); ++k) runner.functions[k] = code.entry(firstKernel + k);
  } else if (backend == BackendKind::kInterpreter) {
    runner.interpret = [](const void* user, int kernel, const KernelArgs& args) {
      static_cast<void>(
          interpret(static_cast<const CompiledPass*>(user)->vectors[static_cast<std::size_t>(kernel)], args));
    };
  } else {
    runner.interpret = [](const void* user, int kernel, const KernelArgs& args) {
      interpret(static_cast<const CompiledPass*>(user)->tile.kernels[static_cast<std::size_t>(kernel)], args);
    };
  }
  return runner;
}

}  // namespace

Result<LoadedCode> loadPrograms(const std::vector<CompiledPass*>& programs, const Options& options) {
  LoadedCode code;
  // Neighbours of one backend are loaded together: they share pages.
  for (std::size_t i = 0; i < programs.size();) {
    const PlanBackend wanted = programs[i]->plan.backend;
    std::vector<Code> codes;
    for (; i < programs.size() && programs[i]->plan.backend == wanted; ++i)
      codes.insert(codes.end(), programs[i]->codes.begin(), programs[i]->codes.end());
    CUBEJIT_TRY(backend, codeBackend(wanted, options));
    CUBEJIT_TRY(loaded, backend.load(codes));
    code.append(std::move(loaded));
  }
  std::size_t firstKernel = 0;
  for (CompiledPass* part : programs) {
    part->binding = TensorBinding(part->tile);
    part->launch = std::make_unique<LaunchProgram>(part->tile, runnerFor(*part, code, firstKernel, options.backend));
    firstKernel += part->codes.size();
  }
  return code;
}

Result<std::unique_ptr<CompiledPass>> compileProgram(TileProgram tile, const Machine& machine, const Options& options,
                                                     LoadedCode& code) {
  CUBEJIT_TRY(part, generate(std::move(tile), PlanBackend::kSession, machine.isa, options));
  CUBEJIT_TRY(loaded, loadPrograms({part.get()}, options));
  code = std::move(loaded);
  return std::move(part);
}

}  // namespace cubejit
