// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the rules of choices that change no result, or that only some ISAs and types have: what could have no effect is refused, so that
// no two legal plans are the same program for that reason.
#pragma once

#include <string>

#include "algorithms/kit/rules.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"

namespace cubejit {

/// Refuses the plan's prefetch because of `why`; empty = it has an effect.
void requireUsualPrefetch(Rules& rules, const TilingPlan& plan, const std::string& why);

/// The rules of algorithms that neither prefetch nor store past the caches.
void requireNoHints(Rules& rules, const TilingPlan& plan);

/// Dot products need an ISA that has them, two operands of bf16, and `allowed`: that the algorithm can pair these channels or pixels.
void requireDotProducts(Rules& rules, const Problem& core, const TilingPlan& plan, const Machine& machine,
                        bool allowed);

}  // namespace cubejit
