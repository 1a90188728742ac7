// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the program of a chip's plan is made, run, and what a run of it counts. Leaves which calls it has to algorithms/lower, what
// they count to emulation/program_counts.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "cubejit/emulation.h"
#include "cubejit/options.h"
#include "runtime/load_programs.h"
#include "tiling/npu/cube_job.h"

namespace cubejit {

/// What the cores of a chip did, together.
EmulationReport reportOf(std::vector<CoreCounts> cores, const Machine& machine);

class ChipProgram {
 public:
  /// Errors: those of the stages. `job` must live as long as the program. `runs`: code is generated; else there are reports only.
  static Result<std::unique_ptr<ChipProgram>> create(const CubeJob& job, const Options& options, bool runs);

  bool runs() const { return compiled_ != nullptr; }
  /// Precondition: runs(). Bits do not depend on the number of slots. kLimitExceeded without memory for the cores' buffers. For one caller at a time.
  Status run(const Tensors& tensors, const Options& options, int slots);
  /// What a run counts: the same each time. Events: the first `mostEvents`, if `trace`.
  EmulationReport report(bool trace, std::int64_t mostEvents);

 private:
  explicit ChipProgram(const CubeJob& job) : job_(job) {}

  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  const CubeJob& job_;
  TileProgram tile_;  ///< unless it is compiled
  LoadedCode code_;
  std::unique_ptr<CompiledGradient> compiled_;
  std::unique_ptr<char, Free> workspace_;
  std::size_t workspaceBytes_ = 0;
  std::optional<EmulationReport> counted_;  ///< without events
};

}  // namespace cubejit
