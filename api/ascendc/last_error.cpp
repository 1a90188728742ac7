// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing but the way from the Ascend C faces to the thread's message.
#include "cubejit_ascendc/last_error.h"

#include "runtime/face/last_error.h"

namespace cubejit::ascendc {

void setLastError(const std::string& message) noexcept {
  try {
    lastError() = message;
  } catch (...) {
    lastError().clear();  // out of memory for the message itself
  }
}

}  // namespace cubejit::ascendc
