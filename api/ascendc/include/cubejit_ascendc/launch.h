// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a kernel function is run on the cores of an emulated chip: in this process, one thread a core, named after it, so
// that a debugger just works. Leaves what a core does to the classes that the kernel uses. C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "cubejit/core_counts.h"
#include "cubejit/export.h"
#include "cubejit/machine.h"
#include "cubejit/result.h"
#include "cubejit/sanitizer.h"
#include "cubejit/timeline.h"

namespace cubejit::ascendc {

/// Memory of the chip that a kernel is given: the caller's own, by its bounds. Converts to the pointer a kernel takes.
struct GlobalMemory {
  void* address = nullptr;
  std::size_t bytes = 0;
  template <class T>
  operator T*() const {  // NOLINT(google-explicit-constructor): stands where a kernel takes a GM_ADDR
    return static_cast<T*>(address);
  }
};
/// A vector's elements. It must outlive the launch.
template <class T>
GlobalMemory globalMemory(std::vector<T>& elements) {
  return {elements.data(), elements.size() * sizeof(T)};
}

/// What is left at its default may be set by the environment, so that a kernel's program need not be built again:
/// CUBEJIT_LAUNCH_TRACE and CUBEJIT_LAUNCH_TIMELINE name files (a process' second launch writes trace.2.json for trace.json, and so
/// on), CUBEJIT_LAUNCH_FAST, CUBEJIT_LAUNCH_STRICT and CUBEJIT_SANITIZE are 0 or 1, CUBEJIT_SOC names the chip. Ignored in processes that run with more rights than their caller.
struct LaunchOptions {
  std::string soc;                 ///< a name of `cubejit targets`, or a family's; empty: see chipOf()
  std::optional<Machine> machine;  ///< of the caller's own, instead of `soc`
  std::int64_t blocks = 0;  ///< GetBlockNum(); 0 = one for each core of the chip. More than there are cores take turns
  int hostThreads =
      0;  ///< cores that run at once; 0 = all. 1 = one after the other, in order, which also fixes the order of sums
          ///< that cores add in memory
  bool fast =
      false;  ///< copies through L0A and L0B, and products that a stride makes zero, are left out: the same bits, counts and times
  /// Look for what a real chip would get wrong (cubejit/sanitizer.h): blocks that read what others write without SyncAll(), memory that
  /// nobody wrote (GmAlloc fills it with ones, which is NaN in every type), results written twice.
  /// LaunchReport::findings has them; CUBEJIT_SANITIZE=1 asks for it as well.
  bool sanitize = false;
  /// Every note and every finding is an error, so that ok() can be trusted. CUBEJIT_LAUNCH_STRICT=1 asks for it as well.
  bool strict = false;
  bool trace = false;                 ///< keep what every instruction of every core did, and when
  TimelineFiles files;                ///< the same, written to files in place of what is there
  std::int64_t mostEvents = 1000000;  ///< traced, an equal share of them a core; a core's later ones are left out
};

/// What one core did.
struct CoreReport {
  std::int64_t computed = 0;  ///< base blocks by Iterate
  std::int64_t stored = 0;    ///< by GetTensorC
  std::int64_t skipped = 0;   ///< given to GetTensorC, and not written: no part of gradOutput reaches them
  CoreCounts counts;  ///< bytes over each path, cube steps, estimated cycles of the chip, the most each buffer held
};

struct LaunchReport {
  std::string machine;
  std::vector<CoreReport> cores;  ///< of each core that ran
  std::vector<std::string>
      notes;                      ///< what is right here and would not be on the chip; blocks that overwrite each other
  std::vector<Finding> findings;  ///< if sanitize: by core; of each kind the first of a launch
  double cycles = 0;              ///< estimated: of the slowest core, its single shapes one after the other
  double microseconds = 0;        ///< at the chip's clock
  std::vector<TraceEvent>
      trace;  ///< if asked for, or to be written: by core, then by time; cycles since the launch began
  std::int64_t eventsDropped = 0;
};

/// Runs `body` once for each block. Errors: an unknown or unsuitable machine, and every fault of the kernel, one a line, with
/// core, block and rule; cubejit_last_error() of the calling thread says the same. Faulty calls do nothing, so memory is intact;
/// files are written all the same. kIo if they cannot be. May be called from several threads.
CUBEJIT_API Result<LaunchReport> runOnCores(const LaunchOptions& options, const std::vector<GlobalMemory>& memory,
                                            const std::function<void()>& body);

/// Runs kernel(arguments...) on every block. Arguments made by globalMemory() also bound what the kernel may touch.
template <class Kernel, class... Arguments>
Result<LaunchReport> launch(const LaunchOptions& options, const Kernel& kernel, const Arguments&... arguments) {
  std::vector<GlobalMemory> memory;
  [[maybe_unused]] const auto collect = [&](const auto& argument) {
    if constexpr (std::is_same_v<std::decay_t<decltype(argument)>, GlobalMemory>) memory.push_back(argument);
  };
  (collect(arguments), ...);
  return runOnCores(options, memory, [&] { kernel(arguments...); });
}

}  // namespace cubejit::ascendc
