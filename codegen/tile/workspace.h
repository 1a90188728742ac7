// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the workspace buffers of a program lie, for who runs it and for who writes C that does.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// Whole cache lines, and one to spare, so that equal panels do not alias at 4 KiB.
constexpr std::int64_t paddedBytes(std::int64_t bytes) { return (bytes + 63) / 64 * 64 + 64; }

struct WorkspaceBytes {
  std::int64_t shared = 0, perThread = 0;
  std::int64_t on(int threads) const { return shared + threads * perThread; }
  WorkspaceBytes& operator+=(const WorkspaceBytes& other) {
    shared += other.shared;
    perThread += other.perThread;
    return *this;
  }
};

/// Shared buffers behind each other, then private ones, a copy of these per thread.
struct WorkspaceLayout {
  std::vector<std::int64_t> offset;  ///< by buffer, bytes; private ones from where the thread's part begins
  WorkspaceBytes bytes;
};

/// `elsewhere`: by buffer, those that lie in other memory; none if empty.
inline WorkspaceLayout workspaceOf(const TileProgram& program, const std::vector<bool>& elsewhere = {}) {
  WorkspaceLayout layout;
  for (const Buffer& buffer : program.buffers) {
    const bool counts = elsewhere.empty() || !elsewhere[layout.offset.size()];
    std::int64_t* end = buffer.use == Buffer::Use::kShared && counts ? &layout.bytes.shared
                        : buffer.use == Buffer::Use::kPrivate        ? &layout.bytes.perThread
                                                                     : nullptr;
    layout.offset.push_back(end == nullptr ? 0 : *end);
    if (end != nullptr) *end += paddedBytes(buffer.bytes);
  }
  return layout;
}

}  // namespace cubejit
