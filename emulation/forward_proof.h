// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how it is shown that a forwarded program is the staged one: moves never look at what they move, so it is enough to follow
// every element. L1 is filled with the elements' own numbers, digit by digit in values that each type holds exactly; both programs run
// on them, by whatever executes the kernels (an interpreter, as a rule), and each Mmad must find the same numbers in the same places
// of its sums, and zero where the other finds zero. A last round with arbitrary bits shows the same roundings. What holds for
// these contents holds for all. Leaves the sums to the Mmad kernel, which both programs share.
#pragma once

#include "cubejit/machine.h"
#include "emulation/forward_rules.h"
#include "emulation/unit_code.h"

namespace cubejit {

/// Error: the two programs differ, with the Mmad, the operand and its element. Instructions that load L1 are not run: L1 holds numbers.
/// Precondition: `staged` and `forwarded` have the same length; programs of `machine` and of code.operand.
Status proveForwarding(const UnitCode& code, const UnitProgram& staged, const ForwardedProgram& forwarded,
                       const UnitContext& c, const Machine& machine);

}  // namespace cubejit
