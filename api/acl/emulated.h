// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a gradient reaches an emulated part: planned in phase 1, run in phase 2. Leaves the chip to cubejit/emulation.h.
#pragma once

#include <memory>

#include "cubejit/emulation.h"

namespace cubejit::acl {

/// The request with its plan, checked. Errors: kUnsupported or kNoFeasiblePlan with every limit of the chip that is in the way.
Result<std::shared_ptr<const EmulationRequest>> emulationOf(const Problem& problem, Gradient gradient,
                                                            const Machine& chip);

/// Any number of calls may run at a time, each on a chip of its own.
Status runEmulation(const EmulationRequest& request, const Tensors& tensors);

}  // namespace cubejit::acl
