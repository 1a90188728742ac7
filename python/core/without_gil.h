// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how long the interpreter goes on without us: while the library works, other threads have the GIL.
#pragma once

#include <Python.h>

namespace cubejit::python {

/// Gives the GIL up and takes it back. pybind11's own ends the process where a daemon thread comes back to an interpreter that is ending:
/// Python unwinds such a thread, through a destructor that must not throw. Here it waits for the process to end, as in Python 3.14.
class WithoutGil {
 public:
  WithoutGil() : thread_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() noexcept(false) {
    if (ending()) waitForEver();
    PyEval_RestoreThread(thread_);
  }

 private:
  static bool ending() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
  }
  static void waitForEver() {
    const PyThread_type_lock nobody = PyThread_allocate_lock();
    for (;;) PyThread_acquire_lock(nobody, WAIT_LOCK);
  }
  PyThreadState* thread_;
};

}  // namespace cubejit::python
