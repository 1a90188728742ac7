// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how names and numbers are written so that TextReader reads them back as they were.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cubejit {

/// The name itself if it is a word (text/reader.h), else in quotation marks.
std::string nameText(std::string_view name);

/// In quotation marks, with \" \\ and \xHH for what cannot stand there as it is.
std::string quotedText(std::string_view text);

/// "+12" or "-12".
inline std::string signedText(std::int64_t value) { return (value < 0 ? "" : "+") + std::to_string(value); }

/// The shortest decimals that are this number, inf, or nan; 0x and the bits of other NaNs.
std::string floatText(float value);
std::string floatText(double value);

}  // namespace cubejit
