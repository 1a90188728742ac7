// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which bytes are shown as they are.
#include "runtime/text/printable.h"

namespace cubejit {

std::string printable(const std::string& text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    bool valid = byte == '\t' || (byte >= 0x20 && byte < 0x7f) || (byte >= 0xc2 && byte < 0xf5);
    for (std::size_t k = 1; valid && k < length; ++k)
      valid = i + k < text.size() && (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    if (valid && length == 2) valid = byte != 0xc2 || static_cast<unsigned char>(text[i + 1]) >= 0xa0;  // C1 controls
    if (valid)
      out += text.substr(i, length);
    else
      (out += "\\x").append({kDigits[byte >> 4], kDigits[byte & 15]});
    i += valid ? length : 1;
  }
  return out;
}

}  // namespace cubejit
