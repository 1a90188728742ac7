// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plans a compilation begins with: the caller's, then pins and records; what is left is the planner's. The same
// for what is run and for what is dumped. Leaves where plans are looked for to runtime/tuning/plan_source.
#pragma once

#include <utility>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/pipeline/compile.h"

namespace cubejit {

struct SourcedRequest {
  CompileRequest request;  ///< with every plan that is known
  std::vector<std::pair<Pass, PlanSource>> sources;

  /// Notes in each part where its plan came from.
  void mark(const Executable::State& state) const;
};

/// Fails as findPlan() does.
Result<SourcedRequest> withKnownPlans(const CompileRequest& request, const Machine& machine, const Options& options);

}  // namespace cubejit
