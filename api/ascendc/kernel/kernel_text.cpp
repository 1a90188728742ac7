// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a format of a kernel is read; see the header.
#include "cubejit_ascendc/kernel_text.h"

#include <cstring>

namespace cubejit::ascendc {
namespace {

template <class T>
std::string one(const std::string& conversion, T value) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int length = std::snprintf(nullptr, 0, conversion.c_str(), value);
  std::string text(length > 0 ? static_cast<std::size_t>(length) + 1 : 1, '\0');
  std::snprintf(text.data(), text.size(), conversion.c_str(), value);
#pragma GCC diagnostic pop
  text.pop_back();
  return text;
}

bool isOneOf(char c, const char* letters) { return c != '\0' && std::strchr(letters, c) != nullptr; }

}  // namespace

std::string textOf(const char* format, const TextArgument* arguments, std::size_t count) {
  std::string text;
  std::size_t used = 0;
  for (const char* c = format; *c != '\0'; ++c) {
    if (*c != '%') {
      text += *c;
      continue;
    }
    const char* const begin = c;
    std::string front = "%";
    for (++c; isOneOf(*c, "-+ #0123456789."); ++c) front += *c;
    while (isOneOf(*c, "hlqjzt")) ++c;
    const char letter = *c;
    if (letter == '%') {
      text += '%';
      continue;
    }
    if (!isOneOf(letter, "diuxXocfFeEgGsp") || used == count) {
      text.append(begin, letter == '\0' ? c : c + 1);
      if (letter == '\0') break;
      continue;
    }
    const TextArgument& a = arguments[used++];
    if (isOneOf(letter, "di"))
      text += one(front + "ll" + letter, static_cast<long long>(a.whole));
    else if (isOneOf(letter, "uxXo"))
      text += one(front + "ll" + letter, static_cast<unsigned long long>(a.bits));
    else if (letter == 'c')
      text += one(front + letter, static_cast<int>(a.whole));
    else if (letter == 's')
      text += one(front + letter, a.text != nullptr ? a.text : "(no text)");
    else if (letter == 'p')
      text += one(front + letter, reinterpret_cast<void*>(static_cast<std::uintptr_t>(a.bits)));
    else
      text += one(front + letter, a.real);
  }
  return text;
}

}  // namespace cubejit::ascendc
