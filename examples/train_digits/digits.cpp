// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the file is read: gzipped lines of 64 grey values from 0 to 16 and a label.
#include "digits.h"

#include <zlib.h>

#include <cstdio>
#include <cstdlib>

const char* const kDigitsFile = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz";

Digits readDigits(const std::string& path) {
  Digits digits;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    std::fprintf(stderr, "cannot open %s; Debian's python3-sklearn has it\n", path.c_str());
    return digits;
  }
  char line[1024];
  while (gzgets(file, line, sizeof(line)) != nullptr) {
    const char* at = line;
    char* end = nullptr;
    for (std::size_t i = 0; i <= Digits::kPixels; ++i) {
      const double value = std::strtod(at, &end);
      const bool pixel = i < Digits::kPixels;
      if (end == at || *end != (pixel ? ',' : '\n') || value < 0 || value > (pixel ? 16 : 9)) {
        std::fprintf(stderr, "%s, line %zu: not 64 values from 0 to 16 and a digit\n", path.c_str(),
                     digits.count() + 1);
        gzclose(file);
        return {};
      }
      if (pixel)
        digits.images.push_back(static_cast<float>(value / 16));
      else
        digits.labels.push_back(static_cast<int>(value));
      at = end + 1;
    }
  }
  gzclose(file);
  return digits;
}
