// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where a thread keeps the message of its last failed call through a C-like face. Leaves what it says to the faces.
#pragma once

#include <string>

namespace cubejit {

/// The calling thread's own message; what cubejit_last_error() returns.
std::string& lastError();

}  // namespace cubejit
