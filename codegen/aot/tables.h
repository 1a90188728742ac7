// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the parts of a TileProgram that C code looks up at run time lie in one table of 64-bit words: lists, the steps of
// axes, windows, and variants of calls.
// Leaves the loops that use them to aot/c_header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// Word indices into `words`.
struct AotTables {
  std::vector<std::int64_t> words;
  std::vector<std::int64_t> lists;  ///< per list: counts per section, then segments
  struct AxisPlace {
    std::int64_t steps = 0;    ///< stepWords() words each: class, repeat, delta per stream, repeat delta per stream
    std::int64_t windows = 0;  ///< begin, end per class of the dealing axis
  };
  std::vector<std::vector<AxisPlace>> axes;  ///< [phase][axis]
  std::vector<std::vector<std::int64_t>>
      variants;  ///< [phase][call, in the order of the nest]: 3 words each: kernel, list, accumulate
  std::vector<std::vector<std::int64_t>>
      choices;  ///< [phase][choice, in the order of the nest]: begin, end per combination of classes
};

inline std::int64_t stepWords(const Phase& phase) { return 2 + 2 * static_cast<std::int64_t>(phase.streams.size()); }

AotTables aotTables(const TileProgram& program);

/// A name that C accepts for everything of `program`.
std::string aotPrefix(const std::string& name);

/// The symbol of kernel `index`.
std::string aotKernelSymbol(const std::string& prefix, std::size_t index);

/// That of a constant's values.
std::string aotConstantSymbol(const std::string& prefix, const Buffer& constant);

}  // namespace cubejit
