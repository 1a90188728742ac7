// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how much workspace a call of several passes takes: what it keeps for all of them, then what the largest of those takes that run one
// after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "codegen/tile/prepack.h"
#include "codegen/tile/workspace.h"
#include "runtime/exec/back_to_back.h"

namespace cubejit {

class CallWorkspace {
 public:
  /// Keeps so many bytes during the whole call; returns where they begin.
  std::int64_t keep(std::int64_t bytes) {
    const std::int64_t at = kept_;
    kept_ += (bytes + 63) / 64 * 64;
    return at;
  }
  void add(const TileProgram& program) { needs_.push_back(needOf(program)); }
  /// The members of `together` run at once: their workspaces follow each other.
  void add(const std::vector<const TileProgram*>& programs, const std::optional<BackToBack>& together) {
    for (const TileProgram* program : programs) add(*program);
    if (!together) return;
    Need sum;
    for (const BackToBack::Member& member : together->members) {
      const Need need = needOf(*programs[member.program]);
      sum.all += need.all;
      sum.besidePacked += need.besidePacked;
    }
    needs_.push_back(sum);
  }

  std::int64_t keptBytes() const { return kept_; }
  /// `packed`: of runs whose weights are packed already, in memory of their own.
  std::int64_t on(int threads, bool packed = false) const {
    std::int64_t most = 0;
    for (const Need& need : needs_) most = std::max(most, (packed ? need.besidePacked : need.all).on(threads));
    return kept_ + most;
  }

 private:
  struct Need {
    WorkspaceBytes all, besidePacked;
  };
  static Need needOf(const TileProgram& program) {
    return {workspaceOf(program).bytes, workspaceOf(program, prepackOf(program).buffers).bytes};
  }

  std::int64_t kept_ = 0;
  std::vector<Need> needs_;
};

}  // namespace cubejit
