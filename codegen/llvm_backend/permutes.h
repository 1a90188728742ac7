// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which permutations by run-time indices each instruction set has, for the rows of target.
#pragma once

#include "codegen/llvm_backend/target.h"

namespace cubejit {

extern const Permutes kAvx2Permutes, kAvx512Permutes, kNeonPermutes, kSvePermutes;

}  // namespace cubejit
