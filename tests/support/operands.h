// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides small problems and operands that tests of the runtime share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "tests/support/layers.h"

namespace cubejit {

inline constexpr PassMask kAllGradients{true, true, true};

/// Operands of small integers, results full of NaN-like garbage, and a workspace.
class Operands {
 public:
  explicit Operands(const Problem& p)
      : dy_(filled(yElements(p), 3)),
        x_(filled(xElements(p), 5)),
        w_(filled(wElements(p), 7)),
        dx(static_cast<std::size_t>(xElements(p)), -77.0F),
        dw(static_cast<std::size_t>(wElements(p)), -77.0F),
        db(static_cast<std::size_t>(bElements(p)), -77.0F) {}

  Tensors tensors() { return Tensors{dy_.data(), x_.data(), w_.data(), dx.data(), dw.data(), db.data()}; }

  Status run(const Executable& executable, int threads = 0) {
    const std::size_t bytes = executable.workspaceBytes(threads);
    const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, (bytes + 127) / 64 * 64),
                                                                &std::free);
    return executable.run(tensors(), workspace.get(), bytes, threads);
  }

 private:
  static std::vector<float> filled(std::int64_t count, int seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>((i * static_cast<std::size_t>(seed) + i / 11) % 7) - 3.0F;
    return values;
  }
  std::vector<float> dy_, x_, w_;

 public:
  std::vector<float> dx, dw, db;
};

}  // namespace cubejit
