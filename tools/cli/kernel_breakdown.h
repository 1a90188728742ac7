// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how `kernel --time --breakdown` tells what each statement's kernels take, reach, and are held up by.
#pragma once

#include <string>

#include "cubejit/machine.h"
#include "runtime/loader/generate.h"

namespace cubejit::cli {

/// What a core reaches in cores of `threads` threads that run together, measured: GFLOP/s and GB/s of one of them.
struct CoreRoofs {
  double gflops = 0;      ///< of f32
  double pairGflops = 0;  ///< of dot products of pairs
  double quadGflops = 0;  ///< of dot products of quads of bytes
  double gigabytes = 0;   ///< read from memory
};
Result<CoreRoofs> measureRoofs(IsaLevel level, int threads, bool pairs, bool quads);

/// Shares of what a core reaches.
struct RoofShares {
  double arithmetic = 0;  ///< of the peak of its products
  double memory = 0;      ///< of reading from memory; 0 if all buffers fit into the cache
  double caches = 0;      ///< of a vector read or written with each multiply-add of the peak, which L1 gives
};
/// The roof a kernel is nearest to, if it is near one: "arithmetic", "memory", "caches"; else "calls, waiting".
const char* heldUpBy(const RoofShares& shares);

/// Where all runs so far of the pass, `wall` nanoseconds together, went. Precondition: its launch keeps times.
Status tellBreakdown(const CompiledPass& part, const Machine& machine, double wall, double runs, int threads);

}  // namespace cubejit::cli
