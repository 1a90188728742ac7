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

/// What a session does about plans that were measured on this machine.
enum class TuneMode : std::uint8_t {
  kOff,      ///< plans come from the cost model; no file is looked at
  kUse,      ///< a plan that won a tuning run is used
  kMissing,  ///< ... and where there is none, plans are measured when a problem is first compiled
  kAlways    ///< plans are measured when a problem is first compiled, whatever is known
};
constexpr const char* toString(TuneMode m) {
  return m == TuneMode::kOff ? "off" : m == TuneMode::kUse ? "use" : m == TuneMode::kMissing ? "missing" : "always";
}

struct Options {
  std::optional<IsaLevel> isa;  ///< unset: the best this CPU has
  BackendKind backend = BackendKind::kXbyak;
  int threads = 0;                   ///< 0: defaultThreads(), that is min(affinity, cgroup quota)
  ParallelFor parallelFor;           ///< unset: oneTBB
  bool pinThreads = false;           ///< bind the i-th worker to the i-th allowed CPU (for measurements)
  double wakeCycles = 60000;         ///< a phase with less work (core cycles) stays on the calling thread
  std::size_t cacheCapacity = 1024;  ///< executables kept by a session
  TuneMode tune = TuneMode::kOff;
  double tuneSeconds = 2;   ///< a compilation that tunes spends about this long on a gradient
  std::string store;        ///< the user's file of tuning records; empty = none
  std::string systemStore;  ///< a file that is only read, for what the user's does not have; empty = none
  std::string turnFile;     ///< locked while samples are taken, so that tuners of one machine take turns; empty = none
  std::string pins;         ///< plans fixed for reproducible training: used if there, else the plan chosen now is added
};

/// Options with what CUBEJIT_MAX_ISA (a limit: a CPU that has less uses what it has), CUBEJIT_BACKEND, CUBEJIT_NUM_THREADS,
/// CUBEJIT_CACHE_CAPACITY, CUBEJIT_TUNE (off, use, missing, always; use if not set), CUBEJIT_TUNE_SECONDS, CUBEJIT_DB,
/// CUBEJIT_SYSTEM_DB and CUBEJIT_PIN say; unknown values are errors. The user's store is $XDG_DATA_HOME/cubejit/tune-v1.db
/// (~/.local/share) unless named. Ignored in processes that run with more rights than their caller.
Result<Options> optionsFromEnvironment();

Result<IsaLevel> parseIsa(const std::string& name);
Result<BackendKind> parseBackend(const std::string& name);
Result<TuneMode> parseTuneMode(const std::string& name);

}  // namespace cubejit
