// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that every thread has a message of its own.
#include "runtime/last_error.h"

namespace cubejit {

std::string& lastError() {
  static thread_local std::string text;
  return text;
}

}  // namespace cubejit
