// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which element of a tensor lies at a byte offset, as coordinates with names: the index map read backwards.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "cubejit/problem.h"

namespace cubejit {

inline constexpr std::size_t kCoordinates = 5;
using Coordinates = std::array<std::int64_t, kCoordinates>;

/// The axes of one tensor, in the order listings name them: n c d h w, or o i kd kh kw (o and i change names with transposed
/// convolutions, whose weights have the input channels outside).
struct TensorAxes {
  std::array<const char*, kCoordinates> names{};
  Coordinates extent{};  ///< elements
};

TensorAxes axesOf(const Problem& problem, TensorId tensor);

/// Coordinates of the element at `offset` bytes; nothing outside the tensor, between its elements, or in its padding.
std::optional<Coordinates> elementAt(const Problem& problem, TensorId tensor, std::int64_t offset);

}  // namespace cubejit
