// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order in which programs that read the same dy run as one: a block of it at a time, which all of them read while it
// is in a core's cache. Leaves running to launch.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/tile/program.h"
#include "tiling/back_to_back_plans.h"

namespace cubejit {

/// A run of one program's tasks.
struct TaskRun {
  std::size_t program = 0;          ///< index into `members`
  std::int64_t begin = 0, end = 0;  ///< tasks
  friend bool operator==(const TaskRun& x, const TaskRun& y) = default;
};

struct BackToBack {
  struct Member {
    std::size_t program = 0;  ///< index into the programs given
    std::size_t phase = 0;    ///< the one whose tasks are mixed with the others'
  };
  std::vector<Member> members;
  bool includes(std::size_t program) const;
  std::vector<std::vector<TaskRun>> units;  ///< by block of dy: what one core does without a pause
};

/// Takes the programs whose tasks begin in so many places of dy that there is work for all cores, and what they read from there on is
/// likely still in a cache when the next pass's tasks come. None if they are fewer than two. Null stands for one that stays apart.
std::optional<BackToBack> backToBack(const std::vector<const TileProgram*>& programs, const DyBlocks& blocks);

}  // namespace cubejit
