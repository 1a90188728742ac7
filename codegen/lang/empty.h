// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what extents of 0 mean: a statement for no element and a loop of no tile are nothing, a sum of nothing is 0, a minimum infinity and a
// maximum minus infinity. Whoever comes behind it meets no index without numbers.
#pragma once

#include "codegen/lang/source.h"

namespace cubejit::lang {

/// The kernel without loops and statements that never happen. Tensors and indices stay, whatever their extents are.
Source withoutEmpty(Source kernel);

}  // namespace cubejit::lang
