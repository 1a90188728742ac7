// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/unit_loader.h"

#include "codegen/tile/interpret.h"
#include "codegen/vector/interpret.h"
#include "codegen/vector/legalize.h"
#include "codegen/vectorize.h"
#include "cubejit/cubejit.hpp"
#include "runtime/backends.h"

namespace cubejit {

Result<std::unique_ptr<LoadedUnits>> loadUnits(DType operand, const Options& options) {
  const HostIsa isa = detectHost(options.isa.value_or(runnableIsas().front())).isa;
  CUBEJIT_TRY(backend, codeBackend(options));
  auto units = std::make_unique<LoadedUnits>();
  units->kernels = unitKernels(operand, isa);
  units->code.operand = operand;
  units->code.rows = mmadRows(isa);
  units->code.user = units.get();
  std::vector<Code> codes;
  for (const Kernel& kernel : units->kernels) {
    CUBEJIT_TRY(vector, vectorize(kernel, isa));
    CUBEJIT_TRY(legal, legalize(vector));
    units->vectors.push_back(std::move(legal));
    if (backend.emit == nullptr) continue;
    CUBEJIT_TRY(code, backend.emit(units->vectors.back()));
    codes.push_back(std::move(code));
  }
  if (backend.emit != nullptr) {
    CUBEJIT_TRY(loaded, backend.load(codes));
    units->loaded = std::move(loaded);
    for (std::size_t k = 0; k < codes.size(); ++k) units->code.functions[k] = units->loaded.entry(k);
  } else if (options.backend == BackendKind::kInterpreter) {
    units->code.interpret = [](const void* user, int kernel, const KernelArgs& args) {
      static_cast<void>(
          interpret(static_cast<const LoadedUnits*>(user)->vectors[static_cast<std::size_t>(kernel)], args));
    };
  } else {
    units->code.interpret = [](const void* user, int kernel, const KernelArgs& args) {
      interpret(static_cast<const LoadedUnits*>(user)->kernels[static_cast<std::size_t>(kernel)], args);
    };
  }
  return units;
}

}  // namespace cubejit
