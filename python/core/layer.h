// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a compiled layer is beside its executable: how it runs on bare addresses, and how it is handed to others.
#pragma once

#include <memory>

#include "cubejit/cubejit.hpp"
#include "python/core/runnable.h"

namespace cubejit::python {

/// Immutable; runs on addresses of tensors that lie as they were described.
struct Layer {
  std::shared_ptr<Session> session;  ///< lives at least as long as what it compiled
  std::shared_ptr<const Executable> executable;

  /// Throws std::bad_alloc if there is no memory for its workspace.
  Status run(const Addresses& tensors, int threads) const;
  /// Its receiver's to release.
  const Runnable* runnable() const;
};

}  // namespace cubejit::python
