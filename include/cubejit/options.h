// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a caller may choose beyond the problem: ISA, backend, threads.
// The environment is only read by optionsFromEnvironment(); a Session does what its Options say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cubejit/host_isa.h"
#include "cubejit/result.h"

namespace cubejit {

/// How kernels are executed.
enum class BackendKind : std::uint8_t {
  kXbyak,           ///< generated machine code
  kInterpreter,     ///< the VectorProgram interpreted, op by op: slow, for checking the emitter
  kTileInterpreter  ///< the tile instructions interpreted: slow, for checking everything below
};
constexpr const char* toString(BackendKind b) {
  return b == BackendKind::kXbyak ? "xbyak" : b == BackendKind::kInterpreter ? "interpreter" : "tile_interpreter";
}

/// A caller's thread pool: calls body(context, i) for every i in [0, count), on any threads, and returns when all are done.
/// It may run them one after the other. Must not throw.
struct ParallelFor {
  void (*run)(void* user, int count, void (*body)(void* context, int index), void* context) = nullptr;
  void* user = nullptr;
};

struct Options {
  std::optional<IsaLevel> isa;  ///< unset: the best this CPU has
  BackendKind backend = BackendKind::kXbyak;
  int threads = 0;                   ///< 0: defaultThreads(), that is min(affinity, cgroup quota)
  ParallelFor parallelFor;           ///< unset: oneTBB
  bool pinThreads = false;           ///< bind the i-th worker to the i-th allowed CPU (for measurements)
  double wakeCycles = 60000;         ///< a phase with less work (core cycles) stays on the calling thread
  std::size_t cacheCapacity = 1024;  ///< executables kept by a session
};

/// Options with what CUBEJIT_MAX_ISA (a limit: a CPU that has less uses what it has), CUBEJIT_BACKEND, CUBEJIT_NUM_THREADS and
/// CUBEJIT_CACHE_CAPACITY say; unknown values are errors. Ignored in processes that run with more rights than their caller.
Result<Options> optionsFromEnvironment();

Result<IsaLevel> parseIsa(const std::string& name);
Result<BackendKind> parseBackend(const std::string& name);

}  // namespace cubejit
