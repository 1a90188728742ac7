// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which NumPy files are read and written: format 1.0 and 2.0, little-endian f32, C order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubejit/dtype.h"
#include "cubejit/result.h"

namespace cubejit::cli {

struct NpyArray {
  std::vector<std::int64_t> shape;
  std::vector<char> bytes;  ///< elements of the type asked for
};

/// Reads a file whose shape must be `expected`, as elements of `type`: f32 from <f4, f16 from <f2, bf16 from <u2 or |V2 (its
/// bits); 16-bit types also from <f4, rounded to nearest even. Errors name the file, what it holds and what is needed; `axes` says
/// which axes the expected ones are.
Result<NpyArray> readNpy(const std::string& path, const std::vector<std::int64_t>& expected, const std::string& axes,
                         DType type = DType::kF32);

struct NpyOutput {
  std::string path;
  std::vector<std::int64_t> shape;
  DType type = DType::kF32;  ///< bf16 is written as its bits, <u2
  std::vector<char> bytes;
};

/// Writes all files beside their paths, then renames them; if one cannot be written, none is.
Status writeNpy(const std::vector<NpyOutput>& outputs);

}  // namespace cubejit::cli
