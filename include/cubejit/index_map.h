// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where each element of a tensor lies, for every layout, as data: the one place that knows the formulas.
// Leaves moving elements to algorithms/transforms/convert.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "cubejit/problem.h"

namespace cubejit {

/// One dimension of the memory order: contributes (coordinate / unit) % extent * stride elements.
struct Digit {
  std::int64_t unit = 1, extent = 1, stride = 0;
};

/// Offset of an element = sum over its axes of the digits of its coordinates.
/// Axes of activations: n, c, d, h, w. Axes of weights: o, c, kd, kh, kw, where o counts the outer channels and c the inner
/// channels of all groups (c = group * inner + i); only pairs (o, c) of one group exist, see `groups`.
struct IndexMap {
  std::array<std::int64_t, 5> extent{1, 1, 1, 1, 1};
  std::array<std::array<Digit, 3>, 5> digits{};
  std::int64_t elements = 0;  ///< memory in elements, padding included (strided views: unknown, 0)
  std::int64_t groups = 1;    ///< 1 for activations
  bool padded = false;        ///< memory has elements that stand for nothing and are zero

  std::int64_t along(std::size_t axis, std::int64_t coordinate) const {
    std::int64_t offset = 0;
    for (const Digit& d : digits[axis]) offset += coordinate / d.unit % d.extent * d.stride;
    return offset;
  }
  std::int64_t at(const std::array<std::int64_t, 5>& coordinates) const {
    std::int64_t offset = 0;
    for (std::size_t a = 0; a < 5; ++a) offset += along(a, coordinates[a]);
    return offset;
  }
};

/// Grouped FRACTAL_Z_3D: `together` groups share one real group, so that its channels fill whole blocks.
/// together = min(lcm(lcm(I, C0) / I, lcm(O, 16) / O), groups) for I inner and O outer channels a group; see docs/glossary.md.
struct RealGroups {
  std::int64_t together = 1, count = 1, blocksC = 1, blocksN = 1;
};

inline RealGroups realGroups(std::int64_t inner, std::int64_t outer, std::int64_t groups, std::int64_t c0) {
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  RealGroups r;
  r.together = std::min(std::lcm(std::lcm(inner, c0) / inner, std::lcm(outer, std::int64_t{16}) / outer), groups);
  r.count = up(groups, r.together);
  r.blocksC = up(r.together * inner, c0);
  r.blocksN = up(r.together * outer, 16);
  return r;
}

namespace index_map_detail {

/// A dimension of the memory order: a digit of an axis.
struct Dimension {
  std::size_t axis;
  Digit digit;
};

template <std::size_t N>
void place(IndexMap& map, std::array<Dimension, N> outermostFirst) {
  std::int64_t stride = 1;
  std::array<std::size_t, 5> used{};
  for (std::size_t i = N; i-- > 0;) {
    Dimension& d = outermostFirst[i];
    d.digit.stride = stride;
    stride *= d.digit.extent;
    map.digits[d.axis][used[d.axis]++] = d.digit;
  }
  map.elements = stride;
}

inline void placeActivation(IndexMap& map, const TensorFormat& f) {
  const auto& e = map.extent;
  const auto whole = [&](std::size_t axis) { return Dimension{axis, Digit{1, e[axis], 0}}; };
  if (f.layout == Layout::kNcdhw) return place<5>(map, {whole(0), whole(1), whole(2), whole(3), whole(4)});
  if (f.layout == Layout::kNdhwc) return place<5>(map, {whole(0), whole(2), whole(3), whole(4), whole(1)});
  const std::int64_t c0 = f.blockChannels(), c1 = (e[1] + c0 - 1) / c0;
  map.padded = e[1] % c0 != 0;
  place<6>(map,
           {whole(0), whole(2), Dimension{1, Digit{c0, c1, 0}}, whole(3), whole(4), Dimension{1, Digit{1, c0, 0}}});
}

inline void placeWeights(IndexMap& map, const TensorFormat& f) {
  const auto& e = map.extent;
  const std::int64_t inner = e[1] / map.groups, outer = e[0] / map.groups;
  const auto whole = [&](std::size_t axis) { return Dimension{axis, Digit{1, axis == 1 ? inner : e[axis], 0}}; };
  if (f.layout == Layout::kNcdhw) return place<5>(map, {whole(0), whole(1), whole(2), whole(3), whole(4)});
  if (f.layout == Layout::kNdhwc) return place<5>(map, {whole(0), whole(2), whole(3), whole(4), whole(1)});
  const std::int64_t c0 = f.blockChannels();
  const RealGroups r = realGroups(inner, outer, map.groups, c0);
  map.padded = map.groups > 1 || r.blocksC * c0 != inner || r.blocksN * 16 != outer;
  // Real groups never cut a block, so blocks and their insides may be counted over all channels.
  place<8>(map, {Dimension{1, Digit{r.together * inner, r.count, 0}}, whole(2), Dimension{1, Digit{c0, r.blocksC, 0}},
                 whole(3), whole(4), Dimension{0, Digit{16, r.blocksN, 0}}, Dimension{0, Digit{1, 16, 0}},
                 Dimension{1, Digit{1, c0, 0}}});
}

}  // namespace index_map_detail

/// The map of a tensor of a legal problem. db and b are a line of channels on axis c.
inline IndexMap indexMap(const Problem& p, TensorId t) {
  const TensorFormat f = formatOf(p, t);
  const bool weights = isWeights(t), ofX = !isOfOutput(t);
  IndexMap map;
  if (isBias(t)) {
    map.extent[1] = p.cout;
    map.digits[1][0] = Digit{1, p.cout, 1};
    map.elements = p.cout;
    return map;
  }
  const Dhw& space = weights ? p.kernel : ofX ? p.in : p.out;
  map.extent = {weights ? (p.transposed ? p.cin : p.cout) : p.batch,
                weights ? (p.transposed ? p.cout : p.cin) : (ofX ? p.cin : p.cout), space.d, space.h, space.w};
  map.groups = weights ? p.groups : 1;
  if (f.strided()) {
    for (std::size_t a = 0; a < 5; ++a)
      map.digits[a][0] = Digit{1, weights && a == 1 ? map.extent[1] / map.groups : map.extent[a], f.strides[a]};
  } else if (weights) {
    index_map_detail::placeWeights(map, f);
  } else {
    index_map_detail::placeActivation(map, f);
  }
  return map;
}

/// Bytes of the tensor's memory; of a strided view from its lowest to behind its highest element.
inline std::int64_t formatBytes(const Problem& p, TensorId t) {
  const TensorFormat f = formatOf(p, t);
  const IndexMap map = indexMap(p, t);
  if (!f.strided() || isBias(t)) return map.elements * byteSize(f.dtype);
  std::int64_t span = 1;
  for (std::size_t a = 0; a < 5; ++a) {
    if (map.extent[a] == 0) return 0;
    const Digit& d = map.digits[a][0];
    span += (d.extent - 1) * d.stride;
  }
  return span * byteSize(f.dtype);
}

}  // namespace cubejit
