// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the random problems that tests put through the C interface. Leaves what must come out to the tests.
#pragma once

#include <algorithm>
#include <random>

#include "calls.h"
#include "formula.h"

namespace acl_test {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::int64_t in(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(hi - lo + 1));
  }
  bool oneIn(int n) { return in(1, n) == 1; }
  double real() { return static_cast<double>(in(-1000000, 1000000)) / 1e6; }

 private:
  std::mt19937_64 random_;
};

struct Random {
  Case call;
  Geometry geometry;
};

inline constexpr aclDataType kFloatTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};

// Some legal problem of few multiply-adds.
inline Random randomCase(Dice& dice) {
  for (;;) {
    Random r;
    Geometry& g = r.geometry;
    const auto rank = static_cast<std::size_t>(dice.in(1, 3));
    g.transposed = dice.oneIn(3);
    g.groups = dice.oneIn(2) ? 1 : dice.in(1, 6);
    const std::int64_t smallGroup = dice.in(1, dice.oneIn(3) ? 20 : 4), bigGroup = dice.in(1, dice.oneIn(3) ? 20 : 4);
    Five &big = g.transposed ? g.y : g.x, &small = g.transposed ? g.x : g.y;
    big[0] = small[0] = dice.in(1, 3);
    big[1] = bigGroup * g.groups, small[1] = smallGroup * g.groups;
    g.w[0] = small[1], g.w[1] = bigGroup;
    const bool uneven = rank == 2 && dice.oneIn(3);
    Ints outputPadding;
    bool legal = true;
    for (std::size_t a = 3 - rank; a < 3; ++a) {
      big[2 + a] = dice.in(1, rank == 1 ? 60 : rank == 2 ? 14 : 7);
      g.w[2 + a] = dice.in(1, rank == 3 ? 3 : 5);
      g.stride[a] = dice.oneIn(2) ? 1 : dice.in(1, 4);
      g.dilation[a] = dice.oneIn(2) ? 1 : dice.in(1, 3);
      g.before[a] = g.after[a] = dice.in(0, 3);
      if (uneven) g.after[a] = dice.in(0, 3);
      const std::int64_t room = big[2 + a] + g.before[a] + g.after[a] - g.dilation[a] * (g.w[2 + a] - 1) - 1;
      legal = legal && room >= 0;
      small[2 + a] = room / g.stride[a] + 1;
      outputPadding.push_back(g.transposed ? room % g.stride[a] : 0);
    }
    if (!legal || volume(small) * bigGroup * g.w[2] * g.w[3] * g.w[4] > 60000) continue;
    Case& c = r.call;
    const auto shape = [&](const Five& f) {
      Ints dims{f[0], f[1]};
      dims.insert(dims.end(), f.begin() + 2 + static_cast<std::ptrdiff_t>(3 - rank), f.end());
      return dims;
    };
    c.x = shape(g.x), c.w = shape(g.w), c.y = shape(g.y);
    c.transposed = g.transposed, c.groups = static_cast<int>(g.groups), c.outputPadding = outputPadding;
    for (std::size_t a = 3 - rank; a < 3; ++a) {
      c.stride.push_back(g.stride[a]), c.dilation.push_back(g.dilation[a]);
      if (!uneven) c.padding.push_back(g.before[a]);
    }
    if (uneven) c.padding = {g.before[1], g.after[1], g.before[2], g.after[2]};
    do {
      for (std::size_t i = 0; i < 3; ++i) c.mask[i] = !dice.oneIn(4);
    } while (!c.mask[0] && !c.mask[1] && !c.mask[2]);
    c.mathType = static_cast<int>(dice.in(0, 3));
    c.type = kFloatTypes[dice.in(0, 2)];
    return r;
  }
}

// Dense, or a permuted order with gaps between elements and in front.
inline TensorPtr randomTensor(Dice& dice, const Ints& dims, aclDataType type, aclFormat format, bool strided) {
  if (!strided) return std::make_unique<OwnTensor>(dims, type, format);
  std::vector<std::size_t> order(dims.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[static_cast<std::size_t>(dice.in(0, static_cast<std::int64_t>(i)))]);
  if (dice.oneIn(4) && dims.size() > 2) {  // channels last
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i == 0 ? 1 : i == order.size() - 1 ? 0 : i + 1;
    std::reverse(order.begin() + 1, order.end() - 1);
  }
  const std::int64_t gap = dice.oneIn(2) ? 0 : 3;
  std::int64_t step = 1 + dice.in(0, gap > 0 ? 1 : 0);
  Ints strides(dims.size());
  for (const std::size_t axis : order) {
    strides[axis] = step;
    step = step * dims[axis] + dice.in(0, gap);
  }
  return std::make_unique<OwnTensor>(dims, type, format, strides, dice.in(0, 5));
}

inline std::vector<double> wholeNumbers(Dice& dice, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(dice.in(-4, 4)));
  return values;
}

inline std::string describe(const Random& r) {
  const auto list = [](const Ints& v) {
    std::string s;
    for (const auto i : v) s += (s.empty() ? "" : ",") + std::to_string(i);
    return s;
  };
  const Case& c = r.call;
  return "x " + list(c.x) + " w " + list(c.w) + " dy " + list(c.y) + " stride " + list(c.stride) + " pad " +
         list(c.padding) + " dilation " + list(c.dilation) + " outputPadding " + list(c.outputPadding) + " groups " +
         std::to_string(c.groups) + (c.transposed ? " transposed" : "") + " mode " + std::to_string(c.mathType) +
         " type " + std::to_string(c.type);
}

}  // namespace acl_test
