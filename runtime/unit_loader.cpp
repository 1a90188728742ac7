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
namespace {

HostIsa isaOf(const Options& options) { return detectHost(options.isa.value_or(runnableIsas().front())).isa; }

Status makeCallable(std::vector<Kernel> kernels, const Options& options, LoadedKernels& to) {
  const HostIsa isa = isaOf(options);
  CUBEJIT_TRY(backend, codeBackend(options));
  to.kernels = std::move(kernels);
  std::vector<Code> codes;
  for (const Kernel& kernel : to.kernels) {
    CUBEJIT_TRY(vector, vectorize(kernel, isa));
    CUBEJIT_TRY(legal, legalize(vector));
    to.vectors.push_back(std::move(legal));
    if (backend.emit == nullptr) continue;
    CUBEJIT_TRY(code, backend.emit(to.vectors.back()));
    codes.push_back(std::move(code));
  }
  if (backend.emit != nullptr) {
    CUBEJIT_TRY(loaded, backend.load(codes));
    to.loaded = std::move(loaded);
    for (std::size_t k = 0; k < codes.size(); ++k) to.callable.functions.push_back(to.loaded.entry(k));
    return Unit{};
  }
  to.callable.user = &to;
  if (options.backend == BackendKind::kInterpreter) {
    to.callable.interpret = [](const void* user, std::size_t kernel, const KernelArgs& args) {
      static_cast<void>(interpret(static_cast<const LoadedKernels*>(user)->vectors[kernel], args));
    };
  } else {
    to.callable.interpret = [](const void* user, std::size_t kernel, const KernelArgs& args) {
      interpret(static_cast<const LoadedKernels*>(user)->kernels[kernel], args);
    };
  }
  return Unit{};
}

const LoadCode* loadsFor(void* user, const LoadShape& shape) {
  LoadedUnits& units = *static_cast<LoadedUnits*>(user);
  const std::lock_guard<std::mutex> lock(units.mutex);
  for (const LoadedUnits::Loads& made : units.loads) {
    if (made.code.shape == shape) return made.kernels.kernels.empty() ? nullptr : &made.code;
  }
  LoadedUnits::Loads& made = units.loads.emplace_back();
  made.code.shape = shape;
  const Status done = makeCallable(loadKernels(shape, isaOf(units.options).lanes()), units.options, made.kernels);
  if (!done.ok()) {  // a shape too wide to be spelled: the scalar models load it
    made.kernels.kernels.clear();
    return nullptr;
  }
  made.code.kernels = made.kernels.callable;
  return &made.code;
}

}  // namespace

Result<std::unique_ptr<LoadedUnits>> loadUnits(DType operand, const Options& options) {
  const HostIsa isa = isaOf(options);
  auto units = std::make_unique<LoadedUnits>();
  units->options = options;
  CUBEJIT_TRY(made, makeCallable(unitKernels(operand, isa), options, units->units));
  static_cast<void>(made);
  units->code.operand = operand;
  units->code.rows = mmadRows(isa);
  units->code.dots = multipliesPairs(operand, isa);
  units->code.kernels = units->units.callable;
  units->code.loads = loadsFor;
  units->code.user = units.get();
  return units;
}

}  // namespace cubejit
