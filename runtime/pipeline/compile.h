// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the whole line: problem and machine in, executable out.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/exec/back_to_back.h"
#include "runtime/exec/call_workspace.h"
#include "runtime/exec/launch.h"
#include "runtime/host/threads.h"
#include "runtime/loader/generate.h"
#include "runtime/loader/loaded_code.h"

namespace cubejit {

/// How a tensor lies in the caller's memory.
struct Extent {
  std::int64_t bytes = 0, alignment = 1;
};

/// A tensor that a call makes once, at a place of its own at the beginning of the workspace, for all parts that read it: converted, or dy times
/// the slope of an activation.
struct SharedTensor {
  TensorId tensor = TensorId::kDy;
  std::int64_t offset = 0;  ///< bytes
  std::unique_ptr<CompiledPass> program;
};

struct Executable::State {
  /// What is known before anything is planned.
  void describe(const CompileRequest& request, const Machine& machine, const Options& options);
  /// Takes into `workspace` what all programs need.
  void measureWorkspace();
  /// All that is generated: what makes shared tensors, then the parts, then what runs instead of some of them.
  std::vector<CompiledPass*> programs() const;
  /// The code of programs(), which have their launches.
  void keep(LoadedCode loaded);

  Problem problem;
  std::array<Extent, kTensors>
      extents;  ///< by TensorId; said once, as a run of a small problem takes no longer than this
  PassMask passes;
  Options options;
  HostIsa isa;
  std::optional<Machine> chip;  ///< that is emulated
  int threads = 1;
  std::vector<std::unique_ptr<CompiledPass>> parts;  ///< in the order of kPasses
  std::vector<SharedTensor> shared;
  CallWorkspace workspace;
  std::optional<BackToBack> together;  ///< parts that run as one
  LaunchProgram::Programs launches;    ///< of the parts
  Team team(int slots) const { return {slots, options.parallelFor, options.pinThreads, options.wakeCycles}; }
  LoadedCode code;
  std::vector<std::shared_ptr<void>> announced;  ///< what debuggers know of `code`; goes before it
  StageTimes times;
  mutable std::atomic<std::int64_t> timedRuns{0}, timedNs{0};  ///< if Options::timeKernels

  /// The parts that read weights.
  std::vector<const CompiledPass*> weightsReaders() const;
  /// What memory that packWeights() filled begins with: the same for executables that may share it.
  std::uint64_t packedTag = 0;
};

Result<std::shared_ptr<const Repacking>> compileRepacking(const Problem& problem, TensorId tensor,
                                                          const TensorFormat& to, const Machine& machine,
                                                          const Options& options);

/// What is planned for and generated for: this host, or Options::machine with its ISA.
Machine machineFor(const Options& options);

/// All of compileExecutable() but loading: nothing can be run.
Result<std::shared_ptr<Executable>> generateExecutable(const CompileRequest& request, const Machine& machine,
                                                       const Options& options);

/// Checks, plans (unless the request brings a plan), lowers, vectorises, legalises, emits and loads. Pure but for loading.
Result<std::shared_ptr<Executable>> compileExecutable(const CompileRequest& request, const Machine& machine,
                                                      const Options& options);

/// The end of the line for a program that a plan was lowered to elsewhere: the executable's only part.
Result<std::shared_ptr<Executable>> compileLowered(const Problem& problem, const TilingPlan& plan, TileProgram program,
                                                   const Machine& machine, const Options& options);

}  // namespace cubejit
