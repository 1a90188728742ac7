// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/text/writer.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "codegen/text/reader.h"

namespace cubejit {
namespace {

template <class Real>
std::string shortest(Real value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

std::string quotedText(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (byte >= ' ' && byte != 127)
      out += c;
    else
      out += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
  }
  return out + "\"";
}

std::string nameText(std::string_view name) {
  TextReader reader(name, Stage::kTile, TextReader::Semicolon::kToken);
  return !name.empty() && reader.peekWord() == name ? std::string(name) : quotedText(name);
}

std::string floatText(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  if (!std::isnan(value)) return shortest(value);
  if (bits == 0x7fc00000U) return "nan";
  char text[8];
  std::to_chars(text, text + sizeof text, bits, 16);  // a NaN's upper digits are 7f or ff
  return "0x" + std::string(text, sizeof text);
}

std::string floatText(double value) { return shortest(value); }

}  // namespace cubejit
