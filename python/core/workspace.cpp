// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python/core/workspace.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "python/core/aligned_bytes.h"

namespace cubejit::python {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// What lies at the beginning of a workspace that is kept: how large it is. One place that is exchanged needs no lock, so a fork in the middle
// of a call leaves none held.
std::atomic<std::size_t*> kept = nullptr;

Workspace allocateWorkspace(std::size_t bytes) {
  const bool huge = bytes >= kHugePage;
  const std::size_t align = huge ? kHugePage : 64, whole = (bytes + align - 1) / align * align;
  Workspace workspace(alignedBytes(whole, align), {whole});
  // Pages of 2 MiB are zeroed one at a time instead of 512 times; without them it is only slower.
  if (huge) static_cast<void>(madvise(workspace.get(), whole, MADV_HUGEPAGE));
  return workspace;
}

}  // namespace

void LeaveWorkspace::operator()(std::byte* workspace) const noexcept {
  if (bytes > kKeptWorkspace) return std::free(workspace);
  auto* mine = new (workspace) std::size_t(bytes);
  std::size_t* other = kept.exchange(nullptr);
  if (other != nullptr && *other > *mine) std::swap(mine, other);
  std::free(other);
  std::free(kept.exchange(mine));  // what another thread left meanwhile
}

Workspace takeWorkspace(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  std::size_t* last = kept.exchange(nullptr);
  if (last == nullptr) return allocateWorkspace(bytes);
  Workspace workspace(reinterpret_cast<std::byte*>(last), {*last});
  if (workspace.get_deleter().bytes >= bytes) return workspace;
  std::free(workspace.release());
  return allocateWorkspace(bytes);
}

}  // namespace cubejit::python
