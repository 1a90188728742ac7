// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond contract.h: a segment list in the words that kernels read.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// Counts per section, then the segments of section 0, of section 1, ...
inline std::vector<std::int64_t> segmentWords(const SegmentList& list) {
  std::vector<std::int64_t> words;
  for (const auto& section : list) words.push_back(static_cast<std::int64_t>(section.size()));
  for (const auto& section : list) {
    for (const Segment& s : section) words.insert(words.end(), {s.aOffset, s.bOffset, s.outer});
  }
  return words;
}

}  // namespace cubejit
