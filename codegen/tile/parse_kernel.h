// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which texts are tile instructions: those that print(Kernel, Detail::kFull) writes.
#pragma once

#include "codegen/text/reader.h"
#include "codegen/tile/program.h"

namespace cubejit {

/// Reads one from its kind's word on, up to the first line that is none of it. Fails on `in`.
Kernel readKernel(TextReader& in);

}  // namespace cubejit
