// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the index vectors: word 2 i of a result is the first line's word i, word 2 i + 1 the second line's.
#include "codegen/units/pair_code.h"

#include <utility>
#include <vector>

namespace cubejit {

void PairCode::loadTables() {
  for (const Half half : {kLow, kHigh}) a_.constant(held_ + half, index(half));
}

void PairCode::one(int reg, int second, int table, int base, std::int64_t disp) {
  a_.loadLower(reg, base, disp);
  a_.loadLower(second, base, disp + pitch_);
  a_.permuteWords2(reg, tableIn(kLow, table), reg, second);
}

// The high half first: the low one overwrites the first line.
void PairCode::two(int low, int high, int second, int table, int base, std::int64_t disp) {
  a_.load(low, base, disp);
  a_.load(second, base, disp + pitch_);
  a_.permuteWords2(high, tableIn(kHigh, high), low, second);
  a_.permuteWords2(low, tableIn(kLow, table), low, second);
}

int PairCode::tableIn(Half half, int otherwise) {
  if (held()) return held_ + half;
  a_.constant(otherwise, index(half));
  return otherwise;
}

int PairCode::index(Half half) {
  int& known = indices_[half];
  if (known >= 0) return known;
  std::vector<std::int32_t> words;
  for (int l = half * lanes_; l < (half + 1) * lanes_; ++l) words.push_back(l | (l + 2 * lanes_) << 16);
  return known = a_.addConstant(std::move(words));
}

}  // namespace cubejit
