// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the page of a pass tells: one HTML file that needs nothing else, with every kernel's loops, tiles, vector
// program and machine code side by side.
// Leaves how it looks and moves to runtime/dump/page/: kernel.* for kernels in the kernel language, convolution.js for the others.
#pragma once

#include <string>

#include "codegen/binary/tools.h"
#include "runtime/dump/pass.h"

namespace cubejit {

Result<std::string> kernelPage(const ExplainedPass& pass, const BinaryTools& tools);

}  // namespace cubejit
