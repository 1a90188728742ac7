// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is wrong between the cores of a chip: who touches memory that others touch, what of it was never written, and what is
// outside of tensors. Phases are separated by SyncAll; within one, cores are ordered by nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "codegen/tile/program.h"
#include "cubejit/problem.h"
#include "cubejit/sanitizer.h"
#include "emulation/exact_touch.h"

namespace cubejit {

/// A core's run of one task, or of one iteration of the loops in it.
struct CoreVisit {
  int phase = -1, core = -1;
  std::int64_t task = 0;
  const std::vector<Node>* calls = nullptr;
  Window run;
  std::vector<std::int64_t> at;  ///< by stream: how far the axes have moved it, in bytes
};

/// A collision, by visits and by calls of their runs. `other` -1: nobody.
struct MemoryFinding {
  FindingKind kind = FindingKind::kRace;
  std::int64_t visit = -1, other = -1;
  int call = -1;
  int buffer = -1;
  ByteRange bytes;
  std::string what;
};

class MemorySanitizer {
 public:
  MemorySanitizer(const Problem& problem, const TileProgram& program, ProgramTouch& touch, ExactTouch& exact);

  /// Visits come in the order of phases; `number` counts them. Calls found() for what is wrong.
  void visit(std::int64_t number, const CoreVisit& visit, const std::function<void(MemoryFinding)>& found);
  /// After the last visit: outputs that nobody wrote, and results that nobody reads.
  void finish(const std::function<void(MemoryFinding)>& found);
  /// Buffers too large to be followed, in words.
  const std::vector<std::string>& unchecked() const { return unchecked_; }

 private:
  // What is known of a buffer: by grain, who wrote last (visit + 1, 0: nobody) and whether it added; who read last.
  struct Memory {
    std::int64_t grain = 4;
    bool output = false;
    std::vector<std::uint32_t> writer, reader;
    std::vector<std::uint16_t> additions;
    std::vector<bool> element;  ///< of a view: is one; empty: all are
  };
  struct Seen {  ///< of a visit
    int phase = -1, core = -1;
  };
  Memory* memoryOf(int buffer);
  void checkPlanes(int buffer, const Memory& m, const std::function<void(MemoryFinding)>& found) const;
  void access(const CoreVisit& v, std::int64_t number, int call, const CallAccess& access, std::int64_t at,
              const std::function<void(MemoryFinding)>& found);

  const Problem& problem_;
  const TileProgram& program_;
  ProgramTouch& touch_;
  ExactTouch& exact_;
  std::map<int, Memory> memories_;
  std::vector<std::vector<bool>> views_;  ///< elements of inputs that are views, by buffer
  std::vector<Seen> seen_;
  /// Visits, by the calls they run and where their operands are: no two are to be the same,
  std::map<std::tuple<int, int, std::vector<std::int64_t>>, std::int64_t> done_;
  bool repeats_ = false;  ///< unless a view has the same elements again and again
  std::vector<std::string> unchecked_;
};

}  // namespace cubejit
