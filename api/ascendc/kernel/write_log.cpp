// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is kept of an access: a number of its block, its round, whether it added, and whether it was a result at all. Blocks are told
// apart modulo 2^14 - 1, rounds modulo 2^16.
#include "api/ascendc/kernel/write_log.h"

#include <algorithm>
#include <utility>

namespace cubejit::ascendc {
namespace {

constexpr std::int64_t kBlocks = (1 << 14) - 1, kGranule = 2;  // bytes
constexpr std::uint32_t kAdds = 1, kFills = 2;

std::uint32_t markOf(const BlockRound& who, std::uint32_t how) {
  return static_cast<std::uint32_t>((who.round % 65536) << 16 | (who.block % kBlocks + 1) << 2) | how;
}
std::int64_t blockOf(std::uint32_t mark) { return std::int64_t{mark >> 2 & kBlocks} - 1; }
bool sameRound(std::uint32_t a, std::uint32_t b) { return a >> 16 == b >> 16; }
bool race(std::uint32_t a, std::uint32_t b) {
  return a != 0 && sameRound(a, b) && blockOf(a) != blockOf(b) && (a & b & kAdds) == 0;
}

std::string describe(std::int64_t before, std::int64_t now) {
  const std::string block = "block " + std::to_string(now);
  if (before == now)
    return block + " overwrites results that it wrote before; parts of a sum are added with enAtomic 1";
  return "blocks " + std::to_string(before) + " and " + std::to_string(now) +
         " write the same results, and not both add to them: which sum stays depends on time; add with enAtomic 1, "
         "give blocks parts of their own, or call SyncAll() between what begins the sums and what adds to them";
}

std::string describeRead(std::int64_t reader, std::int64_t writer) {
  return "block " + std::to_string(reader) + " reads what block " + std::to_string(writer) +
         " writes, and no SyncAll() is between them";
}

}  // namespace

WriteLog::WriteLog(const std::vector<GlobalMemory>& memory, bool reads) {
  for (const GlobalMemory& m : memory) {
    regions_.push_back(std::make_unique<Region>());
    regions_.back()->memory = m;
    regions_.back()->writers = marksFor(m);
    if (reads) regions_.back()->readers = marksFor(m);
  }
}

WriteLog::Marks WriteLog::marksFor(const GlobalMemory& memory) {
  return Marks(static_cast<Mark*>(std::calloc(memory.bytes / kGranule + 1, sizeof(Mark))));
}

WriteLog::Region* WriteLog::regionAt(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const auto& region : regions_) {
    const auto begin = reinterpret_cast<std::uintptr_t>(region->memory.address);
    if (at >= begin && at < begin + region->memory.bytes) return region->writers == nullptr ? nullptr : region.get();
  }
  return nullptr;
}

Collision WriteLog::wrote(const BlockRound& who, const void* output, const Placement& place, int bytes, bool add) {
  Region* const region = regionAt(output);
  if (region == nullptr || (told_.load(std::memory_order_relaxed) && region->readers == nullptr)) return {};
  region->elementBytes.store(bytes, std::memory_order_relaxed);
  const std::int64_t first = static_cast<const char*>(output) - static_cast<const char*>(region->memory.address),
                     step = bytes / kGranule;
  const std::uint32_t mine = markOf(who, add ? kAdds : 0);
  Collision results, reads;
  place.eachRun([&](std::int64_t, std::int64_t, std::int64_t count, std::int64_t at) {
    for (std::int64_t i = at; i < at + count; ++i) {
      const std::int64_t mark = first / kGranule + i * step, byte = first + i * bytes;
      const std::atomic_ref<Mark> writer(region->writers.get()[mark]);
      const Mark before = writer.load(std::memory_order_relaxed);
      writer.store(mine, std::memory_order_relaxed);
      const bool overwrites = before != 0 && !add && (before & kFills) == 0;  // a result, in whatever round
      if ((overwrites || race(before, mine)) && results.other < 0)
        results = {describe(blockOf(before), who.block), blockOf(before), 0, byte, byte + bytes};
      if (region->readers == nullptr) continue;
      const Mark reader = std::atomic_ref<Mark>(region->readers.get()[mark]).load(std::memory_order_relaxed);
      if (race(reader, mine) && reads.other < 0)
        reads = {describeRead(blockOf(reader), who.block), blockOf(reader), 0, byte, byte + bytes};
    }
  });
  return results.other >= 0 ? told(*region, std::move(results), false) : told(*region, std::move(reads), true);
}

Collision WriteLog::told(const Region& region, Collision found, bool reads) {
  if (found.other < 0 || (reads ? toldOfReads_ : told_).exchange(true)) return {};
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if (regions_[i].get() == &region) found.argument = static_cast<std::int64_t>(i);
  }
  return found;
}

Collision WriteLog::visit(const BlockRound& who, const void* begin, std::int64_t bytes, bool writes) {
  Region* const region = regionAt(begin);
  if (region == nullptr || region->readers == nullptr) return {};
  const std::int64_t first = static_cast<const char*>(begin) - static_cast<const char*>(region->memory.address);
  const std::uint32_t mine = markOf(who, writes ? kFills : 0);
  Mark *const own = (writes ? region->writers : region->readers).get(), *const other =
                                                                            (writes ? region->readers : region->writers)
                                                                                .get();
  Collision found;
  for (std::int64_t mark = first / kGranule; mark < (first + bytes + kGranule - 1) / kGranule; ++mark) {
    const Mark before = std::atomic_ref<Mark>(own[mark]).exchange(mine, std::memory_order_relaxed);
    const Mark across = std::atomic_ref<Mark>(other[mark]).load(std::memory_order_relaxed);
    if (found.other >= 0) continue;
    const std::int64_t byte = mark * kGranule;
    if (race(across, mine))
      found = {writes ? describeRead(blockOf(across), who.block) : describeRead(who.block, blockOf(across)),
               blockOf(across), 0, byte, byte + kGranule};
    else if (writes && race(before, mine) && (before & kFills) == 0)
      found = {describe(blockOf(before), who.block), blockOf(before), 0, byte, byte + kGranule};
  }
  return told(*region, std::move(found), true);
}

Collision WriteLog::filled(const BlockRound& who, const void* begin, std::int64_t bytes) {
  return visit(who, begin, bytes, true);
}
Collision WriteLog::read(const BlockRound& who, const void* begin, std::int64_t bytes) {
  return visit(who, begin, bytes, false);
}

std::vector<Collision> WriteLog::unwritten() const {
  std::vector<Collision> all;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = *regions_[i];
    const int bytes = region.elementBytes;
    if (bytes == 0 || region.readers == nullptr) continue;
    const auto* const memory = static_cast<const unsigned char*>(region.memory.address);
    std::int64_t count = 0, first = -1;
    for (std::int64_t at = 0; at + bytes <= static_cast<std::int64_t>(region.memory.bytes); at += bytes) {
      if (region.writers.get()[at / kGranule] != 0 ||
          !std::all_of(memory + at, memory + at + bytes, [](unsigned char b) { return b == 0xff; }))
        continue;
      if (count++ == 0) first = at;
    }
    if (count > 0)
      all.push_back({std::to_string(count) + " elements of an output are as GmAlloc gave them: no block writes them",
                     -1, static_cast<std::int64_t>(i), first, first + bytes});
  }
  return all;
}

}  // namespace cubejit::ascendc
