// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how ELF objects become executable memory: LLVM's ORC links each one in this process, its code pages read-execute.
// No page is ever writable and executable.
#pragma once

#include <vector>

#include "codegen/code.h"
#include "cubejit/result.h"
#include "runtime/loader/loaded_code.h"

namespace cubejit {

/// Links all kernels; each may only refer to itself. kLimitExceeded if the system refuses memory or executable pages,
/// kInternal if an object is damaged or lacks its entry.
Result<LoadedCode> loadOrc(const std::vector<Code>& codes);

}  // namespace cubejit
