// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides units by where tasks begin to read: all that begin in a block belong together.
#include "runtime/exec/back_to_back.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/tile/caller_buffers.h"
#include "codegen/tile/task_ranges.h"
#include "cubejit/problem.h"

namespace cubejit {
namespace {

// The phase that reads dy, and most of it if several do; none if nobody does.
std::optional<std::size_t> mainPhase(const TileProgram& program, int dy) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < program.phases.size(); ++i) {
    const Phase& phase = program.phases[i];
    const bool reads = std::any_of(phase.streams.begin(), phase.streams.end(),
                                   [&](const Stream& stream) { return stream.buffer == dy; });
    if (reads && (!best || phase.workCycles > program.phases[*best].workCycles)) best = i;
  }
  return best;
}

constexpr std::int64_t kMostTasks = 1 << 20;

std::int64_t blockOf(const TaskRange& range, const DyBlocks& blocks) {
  return std::max<std::int64_t>(0, range.lo) / blocks.bytes;
}

// Addresses of calls say where a task begins to read, but not how far kernels go from there (a task of a plain tensor reads all channels
// of its rows): that is taken to be as far as to where the next one begins, on average.
bool takesPart(const std::vector<TaskRange>& ranges, std::int64_t dyBytes, const DyBlocks& blocks) {
  std::set<std::int64_t> begins;
  for (const TaskRange& range : ranges) {
    if (!range.reads() || range.hi - range.lo > blocks.farthest) return false;
    begins.insert(blockOf(range, blocks));
  }
  const auto places = static_cast<std::int64_t>(begins.size());
  return places >= blocks.fewest && dyBytes / places <= blocks.farthest;
}

}  // namespace

bool BackToBack::includes(std::size_t program) const {
  return std::any_of(members.begin(), members.end(), [&](const Member& member) { return member.program == program; });
}

std::optional<BackToBack> backToBack(const std::vector<const TileProgram*>& programs, const DyBlocks& blocks) {
  if (programs.size() < 2) return std::nullopt;
  BackToBack out;
  std::map<std::int64_t, std::vector<TaskRun>> units;
  for (std::size_t p = 0; p < programs.size(); ++p) {
    if (programs[p] == nullptr) continue;
    const auto& buffers = programs[p]->buffers;
    const int dy = bufferNamed(buffers, toString(TensorId::kDy));
    if (dy < 0) continue;
    const std::optional<std::size_t> phase = mainPhase(*programs[p], dy);
    if (!phase || taskCount(programs[p]->phases[*phase]) > kMostTasks) continue;
    const std::vector<TaskRange> ranges = taskRanges(programs[p]->phases[*phase], dy);
    if (!takesPart(ranges, buffers[static_cast<std::size_t>(dy)].bytes, blocks)) continue;
    const std::size_t member = out.members.size();
    out.members.push_back({p, *phase});
    for (std::size_t task = 0; task < ranges.size(); ++task) {
      std::vector<TaskRun>& unit = units[blockOf(ranges[task], blocks)];
      const auto begin = static_cast<std::int64_t>(task);
      if (!unit.empty() && unit.back().program == member && unit.back().end == begin)
        ++unit.back().end;
      else
        unit.push_back({member, begin, begin + 1});
    }
  }
  if (out.members.size() < 2) return std::nullopt;
  for (auto& [block, unit] : units) out.units.push_back(std::move(unit));
  return out;
}

}  // namespace cubejit
