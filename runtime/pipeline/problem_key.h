// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the identity of a problem in the cache: the values of all its described fields, so that no field can be forgotten.
#pragma once

#include <string>
#include <type_traits>

#include "cubejit/problem.h"

namespace cubejit {

inline std::string problemKey(const Problem& problem, PassMask passes) {
  std::string key;
  const auto append = [&](std::int64_t value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  describeProblem(problem, [&](const char*, const auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Dhw>) {
      for (int axis = 0; axis < 3; ++axis) append(field[axis]);
    } else if constexpr (std::is_same_v<std::decay_t<decltype(field)>, decltype(Problem::formats)>) {
      for (const TensorId t : kTensorIds) {  // two spellings of one format are one problem
        const TensorFormat format = formatOf(problem, t);
        append(static_cast<std::int64_t>(format.dtype));
        append(static_cast<std::int64_t>(format.layout));
        append(format.c0);
        append(format.strided() ? 1 : 0);
        for (const std::int64_t stride : format.strides) append(stride);
      }
    } else if constexpr (std::is_same_v<std::decay_t<decltype(field)>, PostOps>) {
      const std::string text = toString(field);
      append(static_cast<std::int64_t>(text.size()));
      key += text;
    } else {
      append(static_cast<std::int64_t>(field));
    }
  });
  append((passes.dx ? 1 : 0) | (passes.dw ? 2 : 0) | (passes.db ? 4 : 0) | (passes.y ? 8 : 0));
  return key;
}

}  // namespace cubejit
