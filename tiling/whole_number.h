// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which texts are whole numbers: decimal digits, with a minus where the type has one, and nothing else. What the type cannot hold is none,
// where the C library's functions would cut it to what fits.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace cubejit {

/// All of the text; std::nullopt if it is no whole number, or one out of the type's range.
template <class Number>
std::optional<Number> wholeNumber(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace cubejit
