// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides small random convolutions with several taps along W: 1 to 3 axes, ordinary or transposed, groups, strides, padding; dilation on D and H, and, if asked
// for, along W.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

#include "cubejit/problem.h"

namespace cubejit {

class RandomConvolution {
 public:
  explicit RandomConvolution(std::uint64_t seed, std::int64_t mostDilationW = 2)
      : random_(seed), mostDilationW_(mostDilationW) {}

  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  Layout layout() { return kLayouts[static_cast<std::size_t>(below(3))]; }
  /// Any layout of every third problem, and NDHWC of most.
  Layout layoutOf(int i) { return kLayouts[static_cast<std::size_t>(below(10)) % (i % 3 == 0 ? 3 : 1)]; }
  std::mt19937_64& engine() { return random_; }

  Problem next() {
    Problem p;
    p.rank = static_cast<int>(1 + below(3));
    p.transposed = below(4) == 0;
    p.batch = 1 + below(3);
    p.groups = 1 + below(2);
    p.cin = p.groups * (1 + below(24));
    p.cout = p.groups * (1 + below(20));
    for (int axis = 3 - p.rank; axis < 3; ++axis) {
      p.kernel[axis] = axis == 2 ? 2 + below(4) : 1 + below(3);
      p.stride[axis] = 1 + below(2);
      p.dilation[axis] = 1 + below(axis == 2 ? mostDilationW_ : 2);
      const std::int64_t reach = (p.kernel[axis] - 1) * p.dilation[axis];
      p.padBefore[axis] = below(reach + 1);
      p.padAfter[axis] = below(reach + 1);
      // The big tensor's extent gives the small one's.
      std::int64_t &big = p.transposed ? p.out[axis] : p.in[axis], &small = p.transposed ? p.in[axis] : p.out[axis];
      small = std::max<std::int64_t>(1, below(9));
      big = (small - 1) * p.stride[axis] + reach + 1 - p.padBefore[axis] - p.padAfter[axis];
      if (big < 1) return next();
      if (!p.transposed) big += below(p.stride[axis]);
    }
    return p;
  }

 private:
  static constexpr std::array kLayouts{Layout::kNdhwc, Layout::kNcdhw, Layout::kNdc1hwc0};
  std::mt19937_64 random_;
  std::int64_t mostDilationW_;
};

}  // namespace cubejit
