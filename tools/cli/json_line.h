// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how JSON is printed: one object a line; names that are not UTF-8 get replacement characters.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cubejit::cli {

inline std::string jsonLine(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace cubejit::cli
