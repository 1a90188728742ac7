// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how data gets into a self-contained page, and how a page says when it was made.
#pragma once

#include <array>
#include <ctime>
#include <string>

#include "runtime/text/json_value.h"

namespace cubejit::cli {

/// The page with the data in place of __DATA__, inside a script element: nothing in it looks like the element's end or a comment.
inline std::string pageText(std::string page, const Json& data) {
  std::string json;
  for (const char c : oneLine(data)) {
    if (c == '<')
      json += "\\u003c";
    else
      json += c;
  }
  const std::string place = "__DATA__";
  return page.replace(page.find(place), place.size(), json);
}

inline std::string utcNow() {
  std::array<char, 40> text{};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc);
  return text.data();
}

}  // namespace cubejit::cli
