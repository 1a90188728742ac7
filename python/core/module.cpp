// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order in which the parts of cubejit._core are made known. Classes are local to their module, so that a process may hold two copies
// of the package. Leaves what users see to the package cubejit.
#include <dlfcn.h>

#include <string>

#include "python/core/array.h"
#include "python/core/bindings.h"
#include "python/core/failure.h"

namespace {

// The loader takes a library of that name that is in the process already, or that LD_LIBRARY_PATH leads to, rather than the one beside the module.
void requireOwnLibrary() {
  const std::string version = cubejit::version();
  if (version == CUBEJIT_VERSION) return;
  Dl_info library{};
  dladdr(reinterpret_cast<const void*>(&cubejit::version), &library);
  throw pybind11::import_error("cubejit " CUBEJIT_VERSION " was given libcubejit " + version + " of another copy, " +
                               (library.dli_fname == nullptr ? "" : library.dli_fname) +
                               ": LD_LIBRARY_PATH leads there, or it was loaded before");
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  using namespace cubejit::python;
  requireOwnLibrary();
  module.doc() = "The library behind the package cubejit; use that.";
  module.attr("version") = cubejit::version();
  bindFailure(module);
  bindArray(module);
  bindProblem(module);
  pybind11::class_<cubejit::Session, SharedSession> session(
      module, "Session", pybind11::module_local(),
      "Compiles passes of convolutions and keeps them. May be used by many threads at once; the GIL is released while "
      "it works.");
  bindSession(module, session);
  bindPasses(session);
  bindLayer(module, session);
  bindTbe(module);
  bindKernel(module);
}
