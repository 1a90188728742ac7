// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the CPU is asked what it can run; one file answers for each architecture.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "cubejit/machine.h"

namespace cubejit {

/// ISA levels CPU and operating system support, best first.
std::vector<IsaLevel> findRunnableIsas();

/// What CPU or operating system lack of what a level with tiles needs, in a few words; empty: nothing, or the level has no tiles.
std::string missingTiles(IsaLevel level);

/// Asks the operating system to let this process use tiles; empty: it may, else why not. Granted once for all threads and children.
std::string askForTiles();

/// Set by a test whose signal handler does what tiles do: code for them runs then, and is not tuned, as its times mean nothing.
std::atomic<bool>& tilesAreImitated();

/// Which measured core this is, or is planned for as.
HostCore findCore();

/// Maker, model and revision as the CPU itself numbers them; the same on every CPU of one kind.
std::string cpuName();

}  // namespace cubejit
