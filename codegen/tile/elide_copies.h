// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which copies between private buffers a program can do without: a move that reads what moves before it have brought to a buffer
// reads their source instead, and what nobody reads any more is not brought. What leaves private buffers keeps every bit.
#pragma once

#include <functional>

#include "codegen/tile/program.h"

namespace cubejit {

struct CopyElision {
  /// A byte of the buffer that is read more often than this each time it is written stays in it. 0: as do all. Empty: 1, for a copy that is
  /// read several times pays for itself.
  std::function<int(const Buffer&)> mostReads;
};

/// Calls that are replaced keep their unit; buffers and streams keep their numbers. Precondition: the program is sound (tile/verify).
TileProgram elideCopies(TileProgram program, const CopyElision& options = {});

}  // namespace cubejit
