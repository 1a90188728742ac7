// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arrows from tile instructions to vector ops: one for each, in a file of its name.
#pragma once

#include "codegen/tile/program.h"
#include "codegen/vector/program.h"
#include "cubejit/result.h"

namespace cubejit {

/// Precondition of all: kernelRules() finds nothing, and vectors are those of the ISA.
Result<VectorProgram> unitCode(const Contract& contract, const HostIsa& isa);
Result<VectorProgram> unitCode(const TileProduct& product, const HostIsa& isa);
Result<VectorProgram> unitCode(const Copy& copy, const HostIsa& isa);
Result<VectorProgram> unitCode(const Transpose& transpose, const HostIsa& isa);
Result<VectorProgram> unitCode(const Fill& fill, const HostIsa& isa);
Result<VectorProgram> unitCode(const Accumulate& accumulate, const HostIsa& isa);
Result<VectorProgram> unitCode(const LaneReduce& sums, const HostIsa& isa);
Result<VectorProgram> unitCode(const Map& map, const HostIsa& isa);

}  // namespace cubejit
