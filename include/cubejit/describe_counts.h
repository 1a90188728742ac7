// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the names of what is counted: JSON, Python and tables are written against them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cubejit/core_counts.h"
#include "cubejit/machine.h"

namespace cubejit {

/// Bytes that a core's buffer has.
inline std::int64_t capacityOf(const Buffers& buffers, CoreBuffer which) {
  const std::int64_t bytes[] = {buffers.l1Bytes, buffers.l0aBytes, buffers.l0bBytes, buffers.l0cBytes, buffers.ubBytes};
  return bytes[static_cast<std::size_t>(which)];
}

/// Calls value(name, number) for every count, and entry(group, name, number) for those of a path, a pipe or a buffer.
template <class Value, class Entry>
void describeCounts(const CoreCounts& c, const Value& value, const Entry& entry) {
  value("cycles", c.cycles);
  value("cube_steps", c.cubeSteps);
  value("instructions", c.instructions);
  value("tasks", c.tasks);
  value("blocks", c.blocks);
  value("skipped_blocks", c.skipped);
  for (std::size_t i = 0; i < kPaths; ++i) entry("bytes", toString(static_cast<Path>(i)), c.bytes[i]);
  for (std::size_t i = 0; i < kPipes; ++i) entry("busy_cycles", toString(static_cast<Pipe>(i)), c.busy[i]);
  for (std::size_t i = 0; i < kCoreBuffers; ++i)
    entry("high_water", toString(static_cast<CoreBuffer>(i)), c.highWater[i]);
}

}  // namespace cubejit
