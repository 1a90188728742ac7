// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a lowering is told of a forward pass whose adjoint it lowers: what is done with its results before they are stored.
#pragma once

#include <cstdint>

#include "cubejit/post_ops.h"

namespace cubejit {

struct ResultOps {
  PostOps post;
  std::int64_t biases =
      0;  ///< the result's channels have so many biases, in turn: all their own, but for those that columns became
  bool any() const { return post.any(); }
};

}  // namespace cubejit
