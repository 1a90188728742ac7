// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which kernels mean something, from their subscripts alone: nothing is run.
#pragma once

#include "codegen/lang/source.h"
#include "cubejit/result.h"

namespace cubejit::lang {

/// Checks that, in loops and statements that happen for some number (lang/empty.h),
///   every subscript lies within its dimension, for all numbers of its indices;
///   what is read has been written, by an earlier line, if it is no input; no input is written, every output that has elements is;
///   a target names every index that its expression has values along, and each once; not that of a loop which sees one number at a time;
///   tasks write elements of their own: each parallel index has a dimension of the target to itself, whatever else stands there; and what a task
///   writes no other one reads or writes;
///   a statement that reads its target's tensor reads what it writes, element by element, or elements that it does not write;
///   parallel loops stand around everything, and an index stands only within its own loop.
/// The error (kTile, kInvalidProblem) names all rules that are broken, a line each, with line, tensor, dimension, index and the numbers.
Status check(const Source& kernel);

}  // namespace cubejit::lang
