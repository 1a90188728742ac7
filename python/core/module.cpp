// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order in which the parts of cubejit._core are made known. Leaves what users see to the package cubejit.
#include "python/core/array.h"
#include "python/core/bindings.h"
#include "python/core/failure.h"

PYBIND11_MODULE(_core, module) {
  using namespace cubejit::python;
  module.doc() = "The library behind the package cubejit; use that.";
  module.attr("version") = cubejit::version();
  bindFailure(module);
  bindArray(module);
  bindProblem(module);
  pybind11::class_<cubejit::Session, SharedSession> session(
      module, "Session",
      "Compiles gradients and keeps them. May be used by many threads at once; the GIL is released while it works.");
  bindSession(module, session);
  bindGradients(session);
  bindLayer(module, session);
  bindTbe(module);
}
