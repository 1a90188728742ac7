// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which parts the module cubejit._core has; each fills in its own classes and functions.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "cubejit/cubejit.hpp"

namespace cubejit::python {

using SharedSession = std::shared_ptr<Session>;

/// A Failure becomes an exception of Python.
void bindFailure(pybind11::module_& module);
void bindProblem(pybind11::module_& module);
void bindSession(pybind11::module_& module, pybind11::class_<Session, SharedSession>& session);
/// Passes that are compiled once and run on addresses: Session.layer().
void bindLayer(pybind11::module_& module, pybind11::class_<Session, SharedSession>& session);
void bindPasses(pybind11::class_<Session, SharedSession>& session);
void bindTbe(pybind11::module_& module);
/// Kernels in the kernel language.
void bindKernel(pybind11::module_& module);

}  // namespace cubejit::python
