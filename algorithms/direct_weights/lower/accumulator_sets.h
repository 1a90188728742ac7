// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many sets of accumulators a microkernel of few sums has, so that its multiplications do not wait for each other.
#pragma once

#include "codegen/tile/contract.h"
#include "cubejit/machine.h"

namespace cubejit {

/// Enough for a multiplication to start whenever the machine can start one, as far as registers and the steps of a section go.
int accumulatorSets(const Contract& contract, const Machine& machine);

}  // namespace cubejit
