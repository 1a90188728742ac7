// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many small groups an NPU merges into one real group, so that its channels fill whole blocks. The weights of a real
// group are block-diagonal. Leaves to CubeWork what that makes of a gradient.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace cubejit {

/// The vendor's group_dict, in the words of the big and the small tensor (ordinary convolution: x and y).
struct RealGroups {
  std::int64_t count = 1;        ///< real_g
  std::int64_t merged = 1;       ///< mag_factor: original groups in one; the last real group may hold fewer
  std::int64_t bigBlocks = 1;    ///< cin1_g: blocks of c0 channels of the big tensor in a real group
  std::int64_t smallBlocks = 1;  ///< the same of the small tensor
  std::int64_t smallPadded = 16;  ///< cout_g: channels of the small tensor in a real group, a multiple of 16
};

constexpr std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }
constexpr std::int64_t roundUp(std::int64_t a, std::int64_t b) { return ceilDiv(a, b) * b; }

/// `big` and `small` are channels of one original group.
inline RealGroups realGroups(std::int64_t big, std::int64_t small, std::int64_t groups, std::int64_t c0) {
  constexpr std::int64_t kSmallBlock = 16;
  RealGroups r;
  r.merged = std::min(std::lcm(c0 / std::gcd(big, c0), kSmallBlock / std::gcd(small, kSmallBlock)), groups);
  r.count = ceilDiv(groups, r.merged);
  r.bigBlocks = ceilDiv(r.merged * big, c0);
  r.smallBlocks = ceilDiv(r.merged * small, c0);
  r.smallPadded = roundUp(r.merged * small, kSmallBlock);
  return r;
}

}  // namespace cubejit
