// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the subjects of the TileProgram verifier: each function returns the rules that are violated, one text each.
// Leaves the order in which they are asked to tile/verify.
#pragma once

#include <string>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// Numbers that are so large that sums of them could not be told.
std::vector<std::string> magnitudeRules(const TileProgram& program);

/// One tile instruction by itself: lane ranges, indices, tables, extents.
std::vector<std::string> kernelRules(const Kernel& kernel);

/// Indices and sizes between the parts of a program, and its kernels. Precondition: magnitudeRules is empty.
std::vector<std::string> structureRules(const TileProgram& program);

/// Every byte a call touches lies in the buffer of its stream. Exact, at a cost that does not depend on the number of calls.
/// Precondition: structureRules is empty.
std::vector<std::string> addressRules(const TileProgram& program);

/// No task of a phase touches a byte that another one writes. Exact; phases that make more calls or touch more words than a
/// test can afford to follow one by one are not judged. Precondition: structureRules and addressRules are empty.
std::vector<std::string> taskRules(const TileProgram& program);

}  // namespace cubejit
