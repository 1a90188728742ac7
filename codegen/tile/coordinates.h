// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which element of a tensor lies at a byte offset, as coordinates with names: the index map read backwards.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "codegen/tile/program.h"
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

/// The tensor that a buffer of this role is; nothing for workspace and constants.
std::optional<TensorId> tensorOf(BufferRole role);
constexpr BufferRole roleOf(TensorId t) { return static_cast<BufferRole>(t); }
static_assert(static_cast<int>(BufferRole::kDy) == static_cast<int>(TensorId::kDy) &&
              static_cast<int>(BufferRole::kX) == static_cast<int>(TensorId::kX) &&
              static_cast<int>(BufferRole::kW) == static_cast<int>(TensorId::kW) &&
              static_cast<int>(BufferRole::kDx) == static_cast<int>(TensorId::kDx) &&
              static_cast<int>(BufferRole::kDw) == static_cast<int>(TensorId::kDw) &&
              static_cast<int>(BufferRole::kDb) == static_cast<int>(TensorId::kDb) &&
              static_cast<int>(BufferRole::kY) == static_cast<int>(TensorId::kY) &&
              static_cast<int>(BufferRole::kB) == static_cast<int>(TensorId::kB) &&
              static_cast<int>(BufferRole::kZ) == static_cast<int>(TensorId::kZ));

TensorAxes axesOf(const Problem& problem, TensorId tensor);

/// Coordinates of the element at `offset` bytes; nothing outside the tensor, between its elements, or in its padding.
std::optional<Coordinates> elementAt(const Problem& problem, TensorId tensor, std::int64_t offset);

}  // namespace cubejit
