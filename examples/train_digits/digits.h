// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the images come from: 1,797 handwritten digits of 8 x 8 pixels (E. Alpaydin and C. Kaynak, UCI repository), as Debian
// packages them with scikit-learn. Leaves learning to main.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

struct Digits {
  static constexpr std::size_t kPixels = 64;
  std::vector<float> images;  ///< [count][8][8], 0 to 1
  std::vector<int> labels;    ///< 0 to 9
  std::size_t count() const { return labels.size(); }
};

/// Where Debian's python3-sklearn puts them.
extern const char* const kDigitsFile;

/// Empty, with a message on stderr, if the file is missing or is not what it should be.
Digits readDigits(const std::string& path);
