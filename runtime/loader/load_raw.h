// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how code bytes become executable memory: one anonymous mapping, written while read-write, then made read-execute.
// No page is ever writable and executable.
#pragma once

#include <vector>

#include "codegen/code.h"
#include "cubejit/result.h"
#include "runtime/loader/loaded_code.h"

namespace cubejit {

/// Maps all kernels at once. kLimitExceeded if the system refuses memory or executable pages.
Result<LoadedCode> loadRaw(const std::vector<Code>& codes);

}  // namespace cubejit
