// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is looked at when a pass is dumped: every stage of it, and what is known about its kernels.
// Leaves files and their contents to runtime/dump/files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/binary/tools.h"
#include "codegen/code.h"
#include "codegen/listing.h"
#include "codegen/tile/program.h"
#include "codegen/vector/program.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "runtime/dump/explain.h"

namespace cubejit {

/// One pass of one problem with all its stages; `codes` has one entry per kernel.
struct PassStages {
  const Problem& problem;
  const Machine& machine;
  const TilingPlan& plan;
  const TileProgram& tile;
  const std::vector<VectorProgram>& vectors;
  const std::vector<Code>& codes;
  const std::optional<TileProgram>& lowered;  ///< the program before passes, where one has changed it
  std::string measured{};  ///< what a run took on this machine, a sentence; empty: that was not measured
};

/// The same, explained.
struct ExplainedPass {
  const PassStages& stages;
  std::vector<Annotation> annotations;
  std::vector<Code> codes;                             ///< per kernel, raw; empty without the component
  std::vector<std::vector<MachineLine>> instructions;  ///< the same
  std::vector<Listing> listings;                       ///< the same

  KernelStory story(std::size_t kernel) const {
    return {stages.problem, stages.tile, static_cast<int>(kernel), stages.vectors[kernel], annotations[kernel]};
  }
};

/// `tools` may be null: then there are no instructions and listings.
Result<ExplainedPass> explain(const PassStages& stages, const BinaryTools* tools);

/// "dx_f32_n1c64k64_1x56x56_..._ndhwc__avx512": the folder of a dump, and the prefix of symbols.
std::string dumpName(const PassStages& stages);

/// "k02_dx_8x2": the beginning of a kernel's file names.
std::string kernelStem(const PassStages& stages, std::size_t kernel);

/// "dx_..._ndhwc__avx512__k02_dx_8x2": what profilers and debuggers call it.
std::string kernelSymbol(const PassStages& stages, std::size_t kernel);

}  // namespace cubejit
