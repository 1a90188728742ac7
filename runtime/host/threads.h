// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how work reaches threads: `slots` calls of a body, each on its own thread if there is one. Nobody waits by spinning
// for a particular thread: slots take tasks from a shared counter, so a descheduled thread only finishes the task it holds.
#pragma once

#include <string>

#include "cubejit/options.h"

namespace cubejit {

/// More threads than this are neither used nor planned for.
inline constexpr int kMostThreads = 1024;

/// What is typed or set as a number of threads. Errors: kInvalidProblem, with the range.
Result<int> parseThreadCount(const std::string& text);

/// The rule that a run's number of threads breaks; empty if it breaks none.
std::string brokenThreads(int threads);
/// Slots of a run on so many threads; 0: as many as usual.
int slotsOf(int threads, int usual);

/// Threads of a run that says no number: those of the options, or defaultThreads().
int threadsOf(const Options& options);

/// body(context, slot) for slot in [0, slots); returns when all are done. One slot runs on the calling thread. Throws what
/// the first body threw, once all are done, and nothing else.
/// A body takes work from a counter shared by all slots: being called when nothing is left, or once more, must do no harm.
/// Each runs in the floating-point environment of the calling thread's call (float_mode.h), and its thread has its own back afterwards.
/// In a forked child, where the pool's threads do not exist, the slots run one after the other.
void runSlots(const ParallelFor& parallelFor, bool pin, int slots, void (*body)(void* context, int slot),
              void* context);

}  // namespace cubejit
