// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how words of others are shown within a line of text.
#pragma once

#include <string>

namespace cubejit {

/// Words of files and command lines, names of files among them, may hold anything: a terminal is shown no controls, a line of text no line
/// break, and nobody bytes that are not UTF-8. What has been made printable stays as it is.
std::string printable(const std::string& text);

}  // namespace cubejit
