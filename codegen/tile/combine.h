// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many values become one, and in which order: a vector's lanes here, a row's vectors in map.h.
#pragma once

#include <cstdint>
#include <limits>

namespace cubejit {

enum class Combine : std::uint8_t {
  kNone,
  kSum,  ///< x + y
  kMin,  ///< x < y ? x : y
  kMax,  ///< x > y ? x : y
};
inline constexpr int kCombines = 4;
constexpr const char* toString(Combine c) {
  constexpr const char* kWords[] = {"none", "sum", "min", "max"};
  return kWords[static_cast<int>(c)];
}
/// What changes nothing. Precondition of all here: it is not kNone.
constexpr float identityOf(Combine c) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return c == Combine::kSum ? 0 : c == Combine::kMin ? kInfinity : -kInfinity;
}
constexpr float combined(Combine c, float x, float y) {
  return c == Combine::kSum ? x + y : (c == Combine::kMin ? x < y : x > y) ? x : y;
}

/// The lanes of a vector, within blocks of four (l0, l2), (l1, l3), then what they gave; then the blocks: (b0, b1) of 8 lanes,
/// ((b0, b1), (b2, b3)) of 16.
inline float lanesCombined(Combine how, const float* lane, int lanes) {
  const auto of = [how](float x, float y) { return combined(how, x, y); };
  float block[4] = {};
  for (int b = 0; b < lanes / 4; ++b)
    block[b] = of(of(lane[4 * b], lane[4 * b + 2]), of(lane[4 * b + 1], lane[4 * b + 3]));
  if (lanes == 4) return block[0];
  return lanes == 8 ? of(block[0], block[1]) : of(of(block[0], block[1]), of(block[2], block[3]));
}

}  // namespace cubejit
