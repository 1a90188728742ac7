// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how JSON is printed: one object a line; names that are not UTF-8 get replacement characters.
#pragma once

#include <string>

#include "runtime/text/json_value.h"

namespace cubejit::cli {

inline std::string jsonLine(const Json& json) { return oneLine(json) + "\n"; }

}  // namespace cubejit::cli
