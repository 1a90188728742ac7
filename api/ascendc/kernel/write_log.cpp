// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is kept of a write: a number of its block and whether it added. Blocks are told apart modulo 2^15 - 1.
#include "api/ascendc/kernel/write_log.h"

namespace cubejit::ascendc {
namespace {

constexpr std::int64_t kBlocks = (1 << 15) - 1, kGranule = 2;  // bytes

std::string describe(std::int64_t before, std::int64_t now) {
  const std::string block = "block " + std::to_string(now);
  if (before == now)
    return block + " overwrites results that it wrote before; parts of a sum are added with enAtomic 1";
  return "blocks " + std::to_string(before) + " and " + std::to_string(now) +
         " write the same results, and not both add to them: which sum stays depends on time; add with enAtomic 1, or "
         "give blocks "
         "parts of their own";
}

}  // namespace

WriteLog::WriteLog(const std::vector<GlobalMemory>& memory) {
  for (const GlobalMemory& m : memory)
    regions_.push_back(
        {m, std::unique_ptr<Mark, Free>(static_cast<Mark*>(std::calloc(m.bytes / kGranule + 1, sizeof(Mark))))});
}

WriteLog::Mark* WriteLog::marksAt(const void* output) const {
  const auto at = reinterpret_cast<std::uintptr_t>(output);
  for (const Region& region : regions_) {
    const auto begin = reinterpret_cast<std::uintptr_t>(region.memory.address);
    if (at < begin || at >= begin + region.memory.bytes) continue;
    return region.marks == nullptr ? nullptr : region.marks.get() + (at - begin) / kGranule;
  }
  return nullptr;
}

std::string WriteLog::wrote(std::int64_t block, const void* output, const Placement& place, int bytes, bool add) {
  Mark* const marks = told_.load(std::memory_order_relaxed) ? nullptr : marksAt(output);
  if (marks == nullptr) return "";
  const auto mine = static_cast<Mark>((block % kBlocks + 1) * 2 + (add ? 1 : 0));
  const std::int64_t step = bytes / kGranule;
  Mark other = 0;  // of a block whose results these are not to be
  place.eachRun([&](std::int64_t, std::int64_t, std::int64_t count, std::int64_t at) {
    for (std::int64_t i = at; i < at + count; ++i) {
      const std::atomic_ref<Mark> mark(marks[i * step]);
      const Mark before = mark.load(std::memory_order_relaxed);
      mark.store(mine, std::memory_order_relaxed);
      const bool bothAdd = add && before % 2 == 1, addsToOwn = add && before / 2 == mine / 2;
      if (before != 0 && !bothAdd && !addsToOwn && other == 0) other = before;
    }
  });
  return other == 0 || told_.exchange(true) ? "" : describe(other / 2 - 1, block);
}

}  // namespace cubejit::ascendc
