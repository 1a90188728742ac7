// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how timelines are spelled, whatever the locale is.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

#include "cubejit/machine.h"

namespace cubejit {

inline double perMicrosecond(const Machine& m) { return m.npu.mhz > 0 ? m.npu.mhz : 1; }

// A name as JSON and SVG take it.
inline std::string plain(std::string name) {
  for (char& c : name) {
    if (c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&') c = '_';
  }
  return name;
}

// Appends text and numbers.
class Text {
 public:
  Text& operator<<(const std::string& text) { return all_ += text, *this; }
  Text& operator<<(std::int64_t number) { return all_ += std::to_string(number), *this; }
  Text& fixed(double number, int decimals, const char* label = "") {
    all_ += label;
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::fixed, decimals);
    all_.append(buffer, end.ptr);
    return *this;
  }
  std::string take() { return std::move(all_); }

 private:
  std::string all_;
};

}  // namespace cubejit
