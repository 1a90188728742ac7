// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when pairs of bf16 may be multiplied by dot products.
#pragma once

#include "algorithms/kit/reorder.h"
#include "algorithms/kit/rules.h"
#include "cubejit/machine.h"

namespace cubejit {

/// Dot products need an ISA that has them, two operands of bf16, and `paired`: that no channel is left without a partner, where the
/// algorithm cannot pair it with zero.
inline void requireDotProducts(Rules& rules, const Problem& core, Pass pass, const Machine& machine, bool dots,
                               bool paired) {
  if (!dots) return;
  rules.require(machine.isa.bf16Dot,
                [&] { return std::string("dot_products: ") + toString(machine.isa.level) + " has none of bf16"; });
  rules.require(paired && dotApplies(core, pass),
                "dot_products need two operands of bf16 and, of small groups and of input channels as vectors, an even "
                "number of channels a group");
}

}  // namespace cubejit
