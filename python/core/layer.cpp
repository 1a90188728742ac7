// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python/core/layer.h"

#include <cstddef>
#include <exception>

#include "python/core/workspace.h"

namespace cubejit::python {
namespace {

bool runRunnable(const void* layer, const Addresses& tensors, int threads) noexcept {
  try {
    return static_cast<const Layer*>(layer)->run(tensors, threads).ok();
  } catch (const std::exception&) {  // there was no memory for its workspace
    return false;
  }
}

void releaseRunnable(const Runnable* runnable) noexcept {
  delete static_cast<const Layer*>(runnable->layer);
  delete runnable;
}

}  // namespace

Status Layer::run(const Addresses& a, int threads) const {
  const std::size_t bytes = executable->workspaceBytes(threads);
  const Workspace workspace = takeWorkspace(bytes);
  return executable->run({a.dy, a.x, a.w, a.dx, a.dw, a.db, nullptr, a.y, a.b, a.z}, workspace.get(), bytes, threads);
}

const Runnable* Layer::runnable() const {
  auto held = std::make_unique<const Layer>(*this);
  const auto* made = new Runnable{held.get(), runRunnable, releaseRunnable};
  held.release();
  return made;
}

}  // namespace cubejit::python
