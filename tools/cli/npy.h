// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which NumPy files are read and written: format 1.0 and 2.0, little-endian f32, C order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubejit/result.h"

namespace cubejit::cli {

struct NpyArray {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Reads a file whose shape must be `expected`. Errors name the file, what it holds and what is needed.
Result<NpyArray> readNpy(const std::string& path, const std::vector<std::int64_t>& expected);

struct NpyOutput {
  std::string path;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Writes all files beside their paths, then renames them; if one cannot be written, none is.
Status writeNpy(const std::vector<NpyOutput>& outputs);

}  // namespace cubejit::cli
