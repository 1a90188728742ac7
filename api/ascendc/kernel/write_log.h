// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether blocks of a launch overwrite each other's results, or their own: no fault by itself, but which sum stays then depends
// on time, or a part of a sum is lost. A sanitised launch asks who reads what others write as well. Leaves memory's bounds to global_access.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "api/ascendc/kernel/placement.h"
#include "cubejit_ascendc/launch.h"

namespace cubejit::ascendc {

/// A block of a launch between two SyncAll(): rounds of different numbers are ordered.
struct BlockRound {
  std::int64_t block = 0, round = 0;
};

/// What is wrong with an access; nothing if `what` is empty.
struct Collision {
  std::string what;
  std::int64_t other = -1;          ///< block
  std::int64_t argument = -1;       ///< of the launch's memory
  std::int64_t begin = 0, end = 0;  ///< bytes of it
};

/// Who wrote which elements of the memory that a launch was given, and who read them. Thread-safe.
class WriteLog {
 public:
  /// `reads`: remembers who read. Without memory for it, nothing is logged.
  explicit WriteLog(const std::vector<GlobalMemory>& memory, bool reads = false);

  /// `who` has written elements of `bytes` each, from `output` on, adding or not. Says what is wrong with that, once a launch; nothing
  /// of memory that nobody told of.
  Collision wrote(const BlockRound& who, const void* output, const Placement& place, int bytes, bool add);
  /// `who` has set [begin, begin + bytes) to something that is no result: results may come over it, in the same round its own alone.
  Collision filled(const BlockRound& who, const void* begin, std::int64_t bytes);
  /// `who` has read [begin, begin + bytes). The same; only of a log of reads.
  Collision read(const BlockRound& who, const void* begin, std::int64_t bytes);
  /// The first bytes of memory that some block wrote where it is still as GmAlloc gave it, all ones, in elements of `bytes`; only of a log of
  /// reads. Not beside writers.
  std::vector<Collision> unwritten() const;

 private:
  using Mark = std::uint32_t;
  struct Free {
    void operator()(Mark* marks) const { std::free(marks); }
  };
  using Marks =
      std::unique_ptr<Mark, Free>;  ///< one for two bytes; zero, and no pages of memory, until they are written
  struct Region {
    GlobalMemory memory;
    Marks writers, readers;
    std::atomic<int> elementBytes{0};  ///< of results that were written there
  };
  static Marks marksFor(const GlobalMemory& memory);
  Region* regionAt(const void* address);
  Collision told(const Region& region, Collision found, bool reads);
  Collision visit(const BlockRound& who, const void* begin, std::int64_t bytes, bool writes);

  std::vector<std::unique_ptr<Region>> regions_;
  std::atomic<bool> told_{false}, toldOfReads_{false};
};

}  // namespace cubejit::ascendc
