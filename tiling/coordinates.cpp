// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a map is inverted: its digits, largest distance first, each take their part of the offset.
#include "tiling/coordinates.h"

#include <algorithm>
#include <vector>

#include "cubejit/index_map.h"

namespace cubejit {

TensorAxes axesOf(const Problem& problem, TensorId tensor) {
  TensorAxes axes;
  const IndexMap map = indexMap(problem, tensor);
  axes.extent = map.extent;
  if (isWeights(tensor)) {
    axes.names = {problem.transposed ? "i" : "o", problem.transposed ? "o" : "i", "kd", "kh", "kw"};
    axes.extent[1] /= std::max<std::int64_t>(1, map.groups);
  } else {
    axes.names = {"n", "c", "d", "h", "w"};
  }
  return axes;
}

std::optional<Coordinates> elementAt(const Problem& problem, TensorId tensor, std::int64_t offset) {
  const IndexMap map = indexMap(problem, tensor);
  const std::int64_t bytes = byteSize(formatOf(problem, tensor).dtype);
  if (offset < 0 || offset % bytes != 0 || offset >= formatBytes(problem, tensor)) return std::nullopt;
  struct Place {
    std::size_t axis;
    Digit digit;
  };
  std::vector<Place> digits;
  for (std::size_t axis = 0; axis < kCoordinates; ++axis) {
    for (const Digit& d : map.digits[axis]) {
      if (d.stride > 0 && d.extent > 1) digits.push_back({axis, d});
    }
  }
  std::stable_sort(digits.begin(), digits.end(),
                   [](const Place& x, const Place& y) { return x.digit.stride > y.digit.stride; });
  Coordinates at{};
  std::int64_t rest = offset / bytes;
  for (const Place& p : digits) {
    const std::int64_t value = std::min(rest / p.digit.stride, p.digit.extent - 1);
    at[p.axis] += value * p.digit.unit;
    rest -= value * p.digit.stride;
  }
  if (rest != 0) return std::nullopt;
  const Coordinates extent = axesOf(problem, tensor).extent;
  for (std::size_t axis = 0; axis < kCoordinates; ++axis) {
    if (at[axis] >= extent[axis]) return std::nullopt;
  }
  return at;
}

}  // namespace cubejit
