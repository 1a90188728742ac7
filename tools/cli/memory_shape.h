// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the shape of a tensor's array as people write it: the problem's own rank, in the order of its layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubejit/index_map.h"

namespace cubejit::cli {

/// Plain: N,C,spatial; channels-last: N,spatial,C; NDC1HWC0: N,D,C1,H,W,C0 (2D and 1D: N,C1,H,W,C0); FRACTAL_Z_3D:
/// G*D*C1*H*W, N1, 16, C0. Weights: O, I/g and so on.
inline std::vector<std::int64_t> memoryShape(const Problem& p, TensorId t) {
  const IndexMap map = indexMap(p, t);
  if (isBias(t)) return {map.extent[1]};
  const TensorFormat f = formatOf(p, t);
  const std::int64_t c0 = f.blockChannels(), inner = map.extent[1] / map.groups;
  if (f.layout == Layout::kFractalZ3d) {
    const RealGroups r = realGroups(inner, map.extent[0] / map.groups, map.groups, c0);
    return {r.count * map.extent[2] * r.blocksC * map.extent[3] * map.extent[4], r.blocksN, 16, c0};
  }
  if (f.layout == Layout::kNdc1hwc0) {
    std::vector<std::int64_t> shape{map.extent[0], map.extent[2], (inner + c0 - 1) / c0,
                                    map.extent[3], map.extent[4], c0};
    if (p.rank < 3) shape.erase(shape.begin() + 1);
    return shape;
  }
  std::vector<std::int64_t> shape{map.extent[0]};
  if (f.layout == Layout::kNcdhw) shape.push_back(inner);
  for (std::size_t a = 5 - static_cast<std::size_t>(p.rank); a < 5; ++a) shape.push_back(map.extent[a]);
  if (f.layout == Layout::kNdhwc) shape.push_back(inner);
  return shape;
}

/// The names of its axes, outermost first: "N,H,W,C".
inline std::string memoryAxes(const Problem& p, TensorId t) {
  if (isBias(t)) return "O";
  const std::string spatial = std::string("D,H,W").substr(2 * (3 - static_cast<std::size_t>(p.rank)));
  const bool weights = t == TensorId::kW || t == TensorId::kDw;
  std::string first = weights ? "O" : "N", second = weights ? "I/g" : "C";
  if (weights && p.transposed) {
    first = "I";
    second = "O/g";
  }
  switch (formatOf(p, t).layout) {
    case Layout::kNcdhw: return first + "," + second + "," + spatial;
    case Layout::kNdhwc: return first + "," + spatial + "," + second;
    case Layout::kNdc1hwc0: return p.rank == 3 ? "N,D,C1,H,W,C0" : "N,C1,H,W,C0";
    case Layout::kFractalZ3d: return "G*D*C1*H*W,N1,16,C0";
  }
  return {};
}

}  // namespace cubejit::cli
