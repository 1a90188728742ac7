// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what device code can ask about the core it runs on, and how an access to memory is checked. Leaves who runs it to
// launch.h: code that no launcher started is block 0 of 1, on the chip of CUBEJIT_SOC or an ascend910b2. C++17.
#pragma once

#include <cstdint>

#include "cubejit/export.h"

namespace cubejit::ascendc {

/// Where a tensor begins, and the memory it was given. `bytes` 0 = its size was not said.
struct GlobalRange {
  void* address = nullptr;       ///< of the element the tensor begins at
  const void* buffer = nullptr;  ///< what SetGlobalBuffer was given
  std::uint64_t bytes = 0;       ///< from `buffer` on
};

CUBEJIT_API std::int64_t blockIndex() noexcept;
CUBEJIT_API std::int64_t blockCount() noexcept;
/// Waits until every block is here. At once, and a report, where that cannot be: see SyncAll.
CUBEJIT_API void syncAll(bool vectorCoresOnly) noexcept;

/// Whether `bytes` bytes at `offset` bytes from the range's address lie in its memory, as far as that is known: what
/// SetGlobalBuffer and the launcher were told. If not, it is reported, with `call` as the place.
CUBEJIT_API bool mayTouch(const GlobalRange& range, std::uint64_t offset, std::uint64_t bytes,
                          const char* call) noexcept;

}  // namespace cubejit::ascendc

namespace AscendC {

/// The index of the block that runs the calling code, and the number of blocks launched.
inline std::int64_t GetBlockIdx() { return cubejit::ascendc::blockIndex(); }
inline std::int64_t GetBlockNum() { return cubejit::ascendc::blockCount(); }

/// Page "SyncAll" of the Ascend C API: waits until all blocks are here; what they wrote before is then seen. The page's rule that
/// blocks must not be more than cores holds here, and LaunchOptions::hostThreads must let all of them run at once. A block that ends
/// with fewer calls than others is reported with its core; on the chip the others would wait for ever. With `isAIVOnly`, the
/// default, the chip's cube cores do not wait, which a note says; here they do. What is given a workspace (the soft kind) needs a
/// LocalTensor and does not compile.
template <bool isAIVOnly = true, class... Workspace>
void SyncAll(Workspace&&...) {
  static_assert(sizeof...(Workspace) == 0, "SyncAll(gmWorkspace, ubWorkspace) is not emulated; call SyncAll<false>()");
  cubejit::ascendc::syncAll(isAIVOnly);
}

}  // namespace AscendC
