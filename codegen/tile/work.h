// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how much a kernel's calls compute and how many bytes they touch, for those who compare that with what a machine reaches.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

struct KernelWork {
  std::int64_t calls = 0;  ///< repetitions count
  std::int64_t flops =
      0;  ///< operations on elements; a multiply-add is two, and so is each product of a pair or quad with its addition
  std::int64_t readBytes = 0;  ///< of what a call reads, each byte once a call
  std::int64_t writtenBytes = 0;
  std::int64_t sharedBytes =
      0;  ///< of a program: of buffers that are not a task's own, each byte once a run (at most: what several calls touch)
  bool pairs = false, quads = false;  ///< its products are dot products of so many members
  friend bool operator==(const KernelWork& x, const KernelWork& y) = default;
};

/// What one call does in one repetition. `list` is null for moves that take none.
KernelWork workOf(const Kernel& kernel, const SegmentList* list, bool accumulates);

/// What a whole run of the program does, by the number of the kernel that calls name. A kernel that stands in for another where C is aligned has no
/// work of its own: it counts as the other one.
/// Precondition: the program obeys structureRules.
std::vector<KernelWork> workOf(const TileProgram& program);

}  // namespace cubejit
