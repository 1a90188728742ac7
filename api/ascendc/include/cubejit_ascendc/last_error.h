// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the Ascend C faces say why something failed: in what cubejit_last_error() returns to the calling thread. C++17.
#pragma once

#include <string>

#include "cubejit/export.h"

namespace cubejit::ascendc {

/// One broken rule a line. Thread-safe: each thread has its own.
CUBEJIT_API void setLastError(const std::string& message) noexcept;

}  // namespace cubejit::ascendc
