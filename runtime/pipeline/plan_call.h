// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plans of passes that are asked for together: those the caller gives, if they are legal, else the cheapest that fit
// Options::memLimit; which tensors are converted once for all passes; and what of it is lowered.
// Leaves to runtime/pipeline/interleave.h whether passes read dy by turns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/tile/program.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/result.h"
#include "runtime/exec/back_to_back.h"
#include "runtime/exec/call_workspace.h"
#include "runtime/pipeline/choose_within.h"
#include "runtime/pipeline/interleave.h"

namespace cubejit {

struct CallPlan {
  Problem problem;  ///< what the plans are of: the caller's, or the same with tensors as they are after conversions
  std::vector<TilingPlan> plans;    ///< in the order of kPasses
  std::vector<TensorId> converted;  ///< once, for all passes
  double predictedCycles = 0;       ///< of a core, conversions included; of the plans that were chosen here
  Interleaving interleaving;        ///< its plans are the final ones
};

/// A tensor that a call makes once for all its passes: of another format, or dy times the slope of an activation.
struct SharedTensorProgram {
  TensorId tensor = TensorId::kDy;
  std::int64_t bytes = 0;
  TileProgram tile;  ///< from input `from` (and `y`) to output `to`
};

struct LoweredCall {
  std::vector<SharedTensorProgram> shared;
  std::vector<TileProgram> tiles;  ///< of the plans
  std::optional<BackToBack> together;
};

/// Error (kLimitExceeded) if the plan takes more workspace than options.memLimit; lowers it if there is a limit.
Status fitsMemLimit(const Problem& problem, const TilingPlan& plan, const Machine& machine, const Options& options);

CallWorkspace workspaceOf(const LoweredCall& call);

/// Precondition: checkProblem(). Pure.
Result<CallPlan> planCall(const CompileRequest& request, const Machine& machine, const Options& options);
Result<LoweredCall> lowerCall(const CompileRequest& request, const CallPlan& plan, const Machine& machine);

}  // namespace cubejit
