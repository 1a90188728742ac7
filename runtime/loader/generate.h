// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the arrows from a TileProgram to code: vectorise, legalise and emit each kernel, with what each stage made kept, and
// verified if Options::verify says so. Leaves mapping the code, and running it, to runtime/loader/load_programs.h.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "algorithms/kit/lower/tensor_binding.h"
#include "codegen/code.h"
#include "codegen/tile/program.h"
#include "codegen/vector/program.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/host_isa.h"
#include "runtime/exec/launch.h"

namespace cubejit {

/// One pass, all its stages kept: they are what dumps and tests look at.
struct CompiledPass {
  Problem problem;  ///< what it was lowered for: formats of its buffers; post-ops where it is y
  TilingPlan plan;
  PlanSource source = PlanSource::kModel;
  TileProgram tile;
  HostIsa isa;                         ///< that its kernels are made for
  std::optional<TileProgram> lowered;  ///< before transforms, where one has changed it
  /// What runs where valuesAllow() does not hold of the operands (runtime/chip/chip_transforms.h); null: this program always runs.
  std::unique_ptr<CompiledPass> anyValues;
  std::vector<VectorProgram> vectors;  ///< per kernel of `tile`, legal for the ISA
  std::vector<Code> codes;             ///< per kernel; empty unless the backend emits code
  TensorBinding binding;
  std::unique_ptr<LaunchProgram> launch;
};

/// Makes kernels of a program for the ISA, by the backend that the plan wants. `plan`, `problem`, `binding` and `launch` are not filled in.
Result<std::unique_ptr<CompiledPass>> generate(TileProgram tile, PlanBackend wanted, const HostIsa& isa,
                                               const Options& options);

/// The program of a plan in the forms that are made of it.
struct ProgramForms {
  TileProgram tile;
  HostIsa isa;
  std::optional<TileProgram> lowered, anyValues;  ///< as in CompiledPass; anyValues is made for an ISA of its own
  HostIsa anyValuesIsa;
};

/// Makes kernels of the programs of a problem's plans.
Result<std::vector<std::unique_ptr<CompiledPass>>> generateEach(std::vector<ProgramForms> programs,
                                                                const Problem& problem,
                                                                const std::vector<TilingPlan>& plans,
                                                                const Options& options);

}  // namespace cubejit
