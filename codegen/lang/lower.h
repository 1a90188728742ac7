// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a kernel of the kernel language becomes a TileProgram for vectors of an ISA. Each outermost loop, and each statement outside all
// loops, is a phase; parallel loops are its tasks.
//
//   sums of products, one factor along the target's vectors:   a Contract that holds a tile of the target in registers
//   the same of bf16, where the ISA has dot products:          one of pairs (lang/pairs.h), or TileProducts of a matrix unit
//   sum, min and max along contiguous elements:                a Map that combines rows, and a LaneReduce
//   other min and max:                                         a Map for each number of the index, which compares with what is there
//   everything else, element by element:                       Maps of three elements each; copies and transpositions of one alone
#pragma once

#include "codegen/lang/source.h"
#include "cubejit/host_isa.h"
#include "cubejit/result.h"

namespace cubejit::lang {

/// Checks the kernel (lang/check.h), leaves out what happens for no number (lang/empty.h), then makes its program, which verify() accepts. Errors (kTile) name lines and tensors; kUnsupported what no
/// tile instruction does, kLimitExceeded what does not fit into registers or takes too many steps, with what would.
Result<TileProgram> lower(const Source& kernel, const HostIsa& isa);

}  // namespace cubejit::lang
