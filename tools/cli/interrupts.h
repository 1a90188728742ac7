// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a long command is stopped: the first SIGINT or SIGTERM asks for a clean end, the second is taken at its word.
#pragma once

namespace cubejit::cli {

/// From now on, for the rest of the process.
void listenForInterrupts();
/// Whether a clean end was asked for. Thread-safe.
bool stopRequested();

}  // namespace cubejit::cli
