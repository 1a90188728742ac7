// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the Ascend C faces say why something failed: in what cubejit_last_error() returns to the calling thread. C++17.
#pragma once

#include <string>

namespace cubejit::ascendc {

/// One broken rule a line. Thread-safe: each thread has its own.
void setLastError(const std::string& message) noexcept;

}  // namespace cubejit::ascendc
