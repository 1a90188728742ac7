// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where a Failure is turned into an object of Python. Leaves the classes to cubejit/errors.py.
#include "python/core/failure.h"

#include <exception>
#include <utility>

#include "python/core/bindings.h"

namespace cubejit::python {

namespace py = pybind11;

void bindFailure(py::module_&) {
  py::register_local_exception_translator([](std::exception_ptr pending) {
    try {
      if (pending) std::rethrow_exception(std::move(pending));
    } catch (const Failure& failure) {
      const Error& error = failure.error();
      try {
        const py::object raised = py::module_::import("cubejit.errors")
                                      .attr("error_of")(toString(error.code), toString(error.stage), error.message);
        PyErr_SetObject(py::type::of(raised).ptr(), raised.ptr());
      } catch (py::error_already_set& other) {
        other.restore();
      }
    }
  });
}

}  // namespace cubejit::python
