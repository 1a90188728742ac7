// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the integer arithmetic of rounding where the ISA has no conversion of its own, or one with other results, and how words are formed of
// members in several places.
#include "codegen/units/element_code.h"

#include <bit>

namespace cubejit {

void ElementCode::load(int reg, int temporary, int base, std::int64_t disp, LaneRange lanes) {
  switch (from_) {
    case Element::kF16: a_.loadNarrow(VOp::kLoadF16, reg, base, disp, lanes); return;
    case Element::kBf16:
    case Element::kBf16Flushed:
      a_.loadNarrow(VOp::kLoadHalf, reg, base, disp, lanes);
      a_.shift(VOp::kShiftLeft, reg, reg, 16);
      return;
    case Element::kHalf: a_.loadNarrow(VOp::kLoadHalf, reg, base, disp, lanes); return;
    case Element::kPair:
      a_.loadNarrow(VOp::kLoadHalf, reg, base, disp, lanes);
      if (pairPitch_ == 0) return;
      a_.loadNarrow(VOp::kLoadHalf, temporary, base, disp + pairPitch_, lanes);
      a_.shift(VOp::kShiftLeft, temporary, temporary, 16);
      a_.binary(VOp::kOr, reg, reg, temporary);
      return;
    case Element::kQuad: loadQuads(reg, temporary, base, disp, lanes); return;
    case Element::kI8:
      a_.loadNarrow(VOp::kLoadI8, reg, base, disp, lanes);
      if (!keepsBytes()) a_.narrow(VOp::kToFloat, reg, reg);
      return;
    case Element::kI32:
      a_.load(reg, base, disp, lanes);
      a_.narrow(VOp::kToFloat, reg, reg);
      return;
    default: a_.load(reg, base, disp, lanes); return;
  }
}

void ElementCode::store(int reg, NarrowScratch scratch, int base, std::int64_t disp, LaneRange lanes) {
  if (storeNeedsScratch() && to_ != Element::kI8) round(reg, scratch);
  switch (to_) {
    case Element::kF16: a_.storeNarrow(VOp::kStoreF16, reg, base, disp, lanes); return;
    case Element::kBf16Flushed:
      a_.narrow(VOp::kNarrowBf16, reg, reg);
      a_.storeNarrow(VOp::kStoreLow, reg, base, disp, lanes);
      return;
    case Element::kBf16:
      a_.shift(VOp::kShiftRight, reg, reg, 16);
      a_.storeNarrow(VOp::kStoreHalf, reg, base, disp, lanes);
      return;
    case Element::kHalf: a_.storeNarrow(VOp::kStoreHalf, reg, base, disp, lanes); return;
    case Element::kI8:
      if (!keepsBytes()) {  // the limit that a conversion, whose results beyond it are the least number, would not see
        a_.binary(VOp::kMinF, reg, word(std::bit_cast<std::uint32_t>(127.0F), scratch.constant), reg);
        a_.narrow(VOp::kToInt, reg, reg);
      }
      a_.storeNarrow(VOp::kStoreI8, reg, base, disp, lanes);
      return;
    case Element::kI32:
      a_.narrow(VOp::kToInt, reg, reg);
      a_.store(reg, base, disp, lanes);
      return;
    default: a_.store(reg, base, disp, lanes); return;
  }
}

// Each member enters at the top and moves down as the next ones follow.
void ElementCode::loadQuads(int reg, int temporary, int base, std::int64_t disp, LaneRange lanes) {
  for (std::int64_t member = 0; member < 4 - missing_; ++member) {
    const int to = member == 0 ? reg : temporary;
    a_.loadNarrow(VOp::kLoadI8, to, base, disp + member * pairPitch_, lanes);
    a_.shift(VOp::kShiftLeft, to, to, 24);
    if (member == 0) continue;
    a_.shift(VOp::kShiftRight, reg, reg, 8);
    a_.binary(VOp::kOr, reg, reg, temporary);
  }
  if (missing_ > 0) a_.shift(VOp::kShiftRight, reg, reg, 8 * missing_);
}

int ElementCode::word(std::uint32_t value, int reg) {
  a_.constant(reg, a_.addUniform(value));
  return reg;
}

// Magnitude, limited to infinity, is rounded as an integer; what a NaN has above infinity becomes its quiet bit.
void ElementCode::round(int reg, NarrowScratch s) {
  constexpr std::uint32_t kInfinity = 0x7f800000U;
  a_.binary(VOp::kAnd, s.x, reg, word(0x7fffffffU, s.constant));
  a_.binary(VOp::kAnd, reg, reg, word(0x80000000U, s.constant));
  a_.binary(VOp::kMaxInt, s.y, s.x, word(kInfinity, s.constant));
  a_.binary(VOp::kMinInt, s.x, s.x, s.constant);
  a_.binary(VOp::kAddInt, s.y, s.y, word(0U - kInfinity, s.constant));
  a_.binary(VOp::kMinInt, s.y, s.y, word(1, s.constant));
  a_.shift(VOp::kShiftLeft, s.y, s.y, 22);
  a_.binary(VOp::kOr, reg, reg, s.y);
  if (to_ == Element::kBf16) {  // ties to even: half a unit less one, and one more if the last kept bit is set
    a_.shift(VOp::kShiftRight, s.y, s.x, 16);
    a_.binary(VOp::kAnd, s.y, s.y, s.constant);
    a_.binary(VOp::kAddInt, s.x, s.x, s.y);
    a_.binary(VOp::kAddInt, s.x, s.x, word(0x7fffU, s.constant));
  } else {  // ties away from zero
    const std::uint32_t dropped = to_ == Element::kHf32 ? 12 : 13;
    a_.binary(VOp::kAddInt, s.x, s.x, word(1U << (dropped - 1), s.constant));
    a_.binary(VOp::kAnd, s.x, s.x, word(~((1U << dropped) - 1), s.constant));
  }
  a_.binary(VOp::kOr, reg, reg, s.x);
}

}  // namespace cubejit
