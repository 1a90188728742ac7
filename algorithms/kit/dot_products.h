// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides when pairs of bf16 may be multiplied by dot products.
#pragma once

#include <vector>

#include "algorithms/kit/reorder.h"
#include "algorithms/kit/rules.h"
#include "cubejit/machine.h"

namespace cubejit {

/// Which candidates there are: those that multiply pairs of bf16 by dot products where they may, and those that convert them to f32 where
/// they may not, or where an FMA takes less time than a dot product.
inline std::vector<bool> dotChoices(const Problem& core, Pass pass, const Machine& machine) {
  if (!machine.isa.bf16Dot || !dotApplies(core, pass)) return {false};
  if (machine.rates.fmaPerCycle > machine.rates.dotPerCycle) return {true, false};
  return {true};
}

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
