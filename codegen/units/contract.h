// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the arrow contract -> vector ops.
#pragma once

#include "codegen/tile/contract.h"
#include "codegen/vector/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// Lowers a contract; the order of its sums is kept. kLimitExceeded if its accumulators and operands need too many registers.
Result<VectorProgram> vectorizeContract(const Contract& contract, const HostIsa& isa);

}  // namespace cubejit
