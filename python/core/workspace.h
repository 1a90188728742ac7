// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the workspaces of calls lie: in memory that the last call left, because a page is zeroed at its first use, which costs large
// layers more than they compute.
#pragma once

#include <cstddef>
#include <memory>

namespace cubejit::python {

/// The most bytes that the process keeps between calls.
constexpr std::size_t kKeptWorkspace = std::size_t{256} << 20;

/// Gives a workspace back.
struct LeaveWorkspace {
  std::size_t bytes = 0;
  void operator()(std::byte* workspace) const noexcept;
};
using Workspace = std::unique_ptr<std::byte, LeaveWorkspace>;

/// 64-byte aligned memory that is the caller's alone, not initialised; null for 0 bytes. The process keeps the largest that calls gave back and
/// that is not above kKeptWorkspace. Throws std::bad_alloc. From any thread; never waits.
Workspace takeWorkspace(std::size_t bytes);

}  // namespace cubejit::python
