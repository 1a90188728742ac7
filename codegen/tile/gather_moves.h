// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which moves do what a gather says, and how few kernels do: rows of a vector in blocks of eight, turned matrices, zeros.
#pragma once

#include <vector>

#include "codegen/tile/gather.h"
#include "codegen/tile/listed_moves.h"

namespace cubejit {

/// In any order, for they write different bytes. Those that fill have no source.
std::vector<ListedMatrices> movesOf(const Gather& gather);

}  // namespace cubejit
