// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the default pool runs slots: on the threads of oneTBB.
#pragma once

namespace cubejit {

/// body(context, slot) for slot in [0, slots), on at most that many threads, the calling one among them; pinned to one CPU each
/// while they run if `pin` says so. Throws what oneTBB throws, after no body runs any more.
void runInArena(bool pin, int slots, void (*body)(void* context, int slot), void* context);

}  // namespace cubejit
