// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a block of sums leaves L0C: which element of memory each is, its type there, adding or replacing.
#pragma once

#include <functional>

#include "tests/support/unit_models/cube_core.h"

namespace cubejit {

/// What an element of memory becomes: to f16 and bf16 rounded to nearest even.
void storeElement(DType type, std::byte* to, float value);

/// Moves the block whose sums are sum(m, n). Errors: the view is null, ends before the block, or cannot be added to.
Status moveOut(const CubeJob& job, const CoreTask& task, const CubeBlock& block, const BlockTarget& target,
               const std::function<float(std::int64_t, std::int64_t)>& sum);

}  // namespace cubejit
