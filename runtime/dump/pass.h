// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is looked at when a program is dumped, a convolution's pass or a kernel in the kernel language: what it was made of, every stage, and
// what is known about its kernels.
// Leaves files and their contents to runtime/dump/files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codegen/binary/tools.h"
#include "codegen/code.h"
#include "codegen/lang/source.h"
#include "codegen/listing.h"
#include "codegen/tile/program.h"
#include "codegen/vector/program.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "runtime/dump/explain.h"

namespace cubejit {

/// What a program was made of: one pass of a convolution, or a kernel's text with the values of its parameters.
struct OfConvolution {
  const Problem& problem;
  const TilingPlan& plan;
};
struct OfKernelText {
  const std::string& text;
  const lang::Source& source;  ///< that it became
};
using ProgramOrigin = std::variant<OfConvolution, OfKernelText>;

/// A program with all its stages; `codes` has one entry per kernel.
struct PassStages {
  ProgramOrigin origin;
  const Machine& machine;
  const TileProgram& tile;
  const std::vector<VectorProgram>& vectors;
  const std::vector<Code>& codes;
  const std::optional<TileProgram>& lowered;  ///< the program before passes, where one has changed it
  std::string measured{};  ///< what a run took on this machine, a sentence; empty: that was not measured
};

/// "--set M=64,N=200", as the command takes parameters; empty if the kernel has none.
std::string settingFlags(const lang::Source& kernel);

/// The same, explained.
struct ExplainedPass {
  const PassStages& stages;
  std::shared_ptr<const TensorElements> elements;
  std::vector<Annotation> annotations;
  std::vector<Code> codes;                             ///< per kernel, raw; empty without the component
  std::vector<std::vector<MachineLine>> instructions;  ///< the same
  std::vector<Listing> listings;                       ///< the same

  KernelStory story(std::size_t kernel) const {
    return {*elements, stages.tile, static_cast<int>(kernel), stages.vectors[kernel], annotations[kernel]};
  }
};

/// `tools` may be null: then there are no instructions and listings.
Result<ExplainedPass> explain(const PassStages& stages, const BinaryTools* tools);

/// "dx_f32_n1c64k64_1x56x56_..._ndhwc__avx512": the folder of a dump, and the prefix of symbols. A kernel's is "softmax_M64_N200_rows8__avx512",
/// without the parameters where there are too many for a file's name.
std::string dumpName(const PassStages& stages);

/// "k02_dx_8x2": the beginning of a kernel's file names.
std::string kernelStem(const PassStages& stages, std::size_t kernel);

/// "dx_..._ndhwc__avx512__k02_dx_8x2": what profilers and debuggers call it.
std::string kernelSymbol(const PassStages& stages, std::size_t kernel);

}  // namespace cubejit
