// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how threads that need each other are started: all or none.
#pragma once

#include <functional>

#include "cubejit/result.h"

namespace cubejit {

/// Calls body(0) ... body(threads - 1) on as many threads and waits for them. Error kLimitExceeded if the system has no more threads; then
/// nothing was called. What body throws ends the process.
Status runTogether(int threads, const std::function<void(int)>& body);

}  // namespace cubejit
