// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where a thread keeps the texts that a C-like face hands out. Leaves what they say to the faces.
#pragma once

#include <string>

namespace cubejit {

/// The calling thread's own message; what cubejit_last_error() returns. Having it takes no memory, so it is there when memory is not.
std::string& lastError() noexcept;

/// Texts of the calling thread that a function of the C face returns, until it is called again.
struct ReturnedTexts {
  std::string bound, plan, report;
};
ReturnedTexts& returnedTexts() noexcept;

}  // namespace cubejit
