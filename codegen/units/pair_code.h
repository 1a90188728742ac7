// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how vectors of bf16 pairs are formed from two lines of memory: a permute of words for each vector. Two vectors that lie side
// by side share their loads. Needs the ISA's permutes of words, which every ISA with dot products has.
#pragma once

#include <array>
#include <cstdint>

#include "codegen/units/assembler.h"

namespace cubejit {

class PairCode {
 public:
  /// `pitch`: bytes from a pair's first member to its second.
  PairCode(VectorAssembler& a, int lanes, std::int64_t pitch) : a_(a), lanes_(lanes), pitch_(pitch) {}

  static constexpr int kTables = 2;
  /// Keeps the index vectors in registers from `first` on, once loadTables() has been called; without, they are loaded into temporaries.
  void hold(int first) { held_ = first; }
  void loadTables();
  bool held() const { return held_ >= 0; }

  /// A whole vector of pairs. `second` is overwritten, and so is `table` if tables are not held.
  void one(int reg, int second, int table, int base, std::int64_t disp);
  /// The whole vectors of pairs at disp and right behind.
  void two(int low, int high, int second, int table, int base, std::int64_t disp);

 private:
  enum Half { kLow, kHigh };
  /// The register that holds a half's indices; `otherwise` after they were loaded there.
  int tableIn(Half half, int otherwise);
  int index(Half half);

  VectorAssembler& a_;
  const int lanes_;
  const std::int64_t pitch_;
  int held_ = -1;
  std::array<int, kTables> indices_{-1, -1};
};

}  // namespace cubejit
