// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a unit's instruction takes, from the instruction itself: what is read off programs must agree.
#pragma once

#include "emulation/clock.h"
#include "tests/support/unit_models/unit_models.h"

namespace cubejit {

inline void runOn(Clock& clock, const UnitInstruction& instruction, const UnitContext& c, CoreCounts& counts) {
  const char* name = nameOf(instruction);
  const auto l0 = [](L0Side side) { return side == L0Side::kA ? CoreBuffer::kL0a : CoreBuffer::kL0b; };
  if (const auto* i = std::get_if<LoadImage>(&instruction))
    return clock.load(name, i->l1, memoryBytesOf(*i, c), counts);
  if (const auto* i = std::get_if<LoadWeights>(&instruction)) return clock.load(name, i->l1, bytesOf(*i, c), counts);
  if (const auto* i = std::get_if<LoadPixels>(&instruction)) return clock.load(name, i->l1, bytesOf(*i, c), counts);
  if (const auto* i = std::get_if<Unfold>(&instruction))
    return clock.fill(name, l0(i->side), i->l0, i->piece.l1, bytesOf(*i, c), counts);
  if (const auto* i = std::get_if<LoadFractals>(&instruction))
    return clock.fill(name, l0(i->side), i->l0, i->l1, bytesOf(*i, c), counts);
  const auto& i = *std::get_if<Mmad>(&instruction);
  clock.multiply(name, i.l0a, i.l0b, i.l0c, i.m1 * i.k1 * i.n1, i.first, counts);
}

}  // namespace cubejit
