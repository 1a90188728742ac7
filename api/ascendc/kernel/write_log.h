// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether blocks of a launch overwrite each other's results, or their own: no fault by itself, but which sum stays then depends
// on time, or a part of a sum is lost. Leaves memory's bounds to global_access.
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

/// Who wrote which elements of the memory that a launch was given. Thread-safe.
class WriteLog {
 public:
  /// Without memory for it, nothing is logged.
  explicit WriteLog(const std::vector<GlobalMemory>& memory);

  /// GetBlockIdx() `block` has written elements of `bytes` each, from `output` on, adding or not. Says what is wrong with that,
  /// once a launch; "" otherwise, and for memory that nobody told of.
  std::string wrote(std::int64_t block, const void* output, const Placement& place, int bytes, bool add);

 private:
  using Mark = std::uint16_t;
  struct Free {
    void operator()(Mark* marks) const { std::free(marks); }
  };
  struct Region {
    GlobalMemory memory;
    std::unique_ptr<Mark, Free> marks;  ///< one for two bytes; zero, and no pages of memory, until they are written
  };
  Mark* marksAt(const void* output) const;

  std::vector<Region> regions_;
  std::atomic<bool> told_{false};
};

}  // namespace cubejit::ascendc
