// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is counted while a core runs: bytes over each path, work of the cube, time of each pipe, the most a buffer held.
// Leaves to emulation/clock how time is estimated.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cubejit {

/// Ways that bytes take. GM is memory, seen through L2.
enum class Path : std::uint8_t { kGmToL1, kL1ToL0a, kL1ToL0b, kL0cToGm, kL0cToUb, kUbToGm, kGmToUb };
inline constexpr std::size_t kPaths = 7;
constexpr const char* toString(Path p) {
  constexpr const char* kNames[] = {"gm_to_l1",  "l1_to_l0a", "l1_to_l0b", "l0c_to_gm",
                                    "l0c_to_ub", "ub_to_gm",  "gm_to_ub"};
  return kNames[static_cast<std::size_t>(p)];
}

/// Pipes of a core that run side by side; each runs its instructions in order.
enum class Pipe : std::uint8_t { kGmToL1, kL1ToL0, kCube, kOut, kVector };
inline constexpr std::size_t kPipes = 5;
constexpr const char* toString(Pipe p) {
  constexpr const char* kNames[] = {"gm_to_l1", "l1_to_l0", "cube", "l0c_to_gm", "vector"};
  return kNames[static_cast<std::size_t>(p)];
}

/// Buffers of a core.
enum class CoreBuffer : std::uint8_t { kL1, kL0a, kL0b, kL0c, kUb };
inline constexpr std::size_t kCoreBuffers = 5;
constexpr const char* toString(CoreBuffer b) {
  constexpr const char* kNames[] = {"L1", "L0A", "L0B", "L0C", "UB"};
  return kNames[static_cast<std::size_t>(b)];
}

/// What one core (or a part of its work) did. All sums; `highWater` is a maximum.
struct CoreCounts {
  std::array<std::int64_t, kPaths> bytes{};
  std::array<double, kPipes> busy{};                   ///< core cycles
  std::array<std::int64_t, kCoreBuffers> highWater{};  ///< bytes
  std::int64_t cubeSteps = 0;                          ///< steps of the cube's fractal, zeros and padding included
  std::int64_t instructions = 0;
  std::int64_t blocks = 0;   ///< base blocks computed
  std::int64_t skipped = 0;  ///< base blocks that nothing contributes to
  std::int64_t tasks = 0;
  double cycles = 0;  ///< estimated, with what double buffering hides

  void add(const CoreCounts& other) {
    for (std::size_t i = 0; i < kPaths; ++i) bytes[i] += other.bytes[i];
    for (std::size_t i = 0; i < kPipes; ++i) busy[i] += other.busy[i];
    for (std::size_t i = 0; i < kCoreBuffers; ++i) highWater[i] = std::max(highWater[i], other.highWater[i]);
    cubeSteps += other.cubeSteps;
    instructions += other.instructions;
    blocks += other.blocks;
    skipped += other.skipped;
    tasks += other.tasks;
    cycles += other.cycles;
  }
};

/// One instruction on a pipe of a core, in core cycles since the task began (or, in a report, since the run did).
struct TraceEvent {
  std::int32_t core = 0;
  Pipe pipe = Pipe::kGmToL1;
  const char* name = "";
  double start = 0, end = 0;
  std::int64_t bytes = 0;  ///< moved; of the cube: steps
  /// The event that this one waited for is so many before it, of the same core; 0: for none, its pipe was busy until it began.
  std::int32_t back = 0;
  std::int32_t task = -1;  ///< of the core, from 0, in a report
  /// What it fills of a buffer, `held` bytes, until the last instruction that reads it has ended, at `until`. 0 bytes: nothing.
  CoreBuffer buffer = CoreBuffer::kL1;
  std::int64_t held = 0;
  double until = 0;
};

/// What the cores of a chip do in a run of one pass.
struct EmulationReport {
  std::vector<CoreCounts> cores;  ///< of each core of the chip
  CoreCounts total;               ///< their sum; high water: the most of any core
  double cycles = 0;              ///< estimated: of the slowest core
  double microseconds = 0;        ///< at the chip's clock
  std::vector<TraceEvent> trace;  ///< if asked for: by core, then by time
  std::int64_t eventsDropped = 0;
};

}  // namespace cubejit
