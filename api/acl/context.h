// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a context is: switches of its own, nothing else; memory and streams are the process's. Leaves the C functions to the file
// beside.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace cubejit::acl {

using Switches = std::array<std::atomic<std::int64_t>, 3>;  ///< by aclSysParamOpt

struct Context {
  static constexpr std::uint64_t kKind = 10;
  Switches switches{};
};

/// Whether determinism is asked for, by the process's switch or by that of the calling thread's context.
bool deterministic();

}  // namespace cubejit::acl
