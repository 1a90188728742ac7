// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which plan of a pass is used where workspace counts: the cheapest within Options::memLimit or, where no limit is said, within a
// share of the tensors' bytes. Plans that cannot be lowered within the bounds of work are passed over.
#pragma once

#include <cstdint>
#include <string>

#include "cubejit/machine.h"
#include "cubejit/options.h"
#include "cubejit/plan.h"
#include "tiling/planner.h"

namespace cubejit {

/// choosePlan(), of which the plan is the cheapest that can be lowered and fits options.memLimit, less `kept` bytes. Without that limit the
/// workspace stays within half of the bytes of the pass' tensors, or 64 MiB if that is more, where a legal plan does; except that up to 256 MiB
/// are taken by a plan that is at least twice as fast as those. Where it was asked to explain, those that do not fit are refused for it.
Result<PlanChoice> choosePlanWithin(const Problem& problem, Pass pass, const Machine& machine, bool explain,
                                    WeightsUse weights, const Options& options, std::int64_t kept = 0);

/// Bytes of workspace that a run of the plan alone takes on the options' threads.
Result<std::int64_t> workspaceBytes(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                    const Options& options);

/// Error (kLimitExceeded): `what` takes more than options.memLimit.
Error overLimit(const std::string& what, std::int64_t bytes, const Options& options);

}  // namespace cubejit
