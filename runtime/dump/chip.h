// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a dump for an emulated chip shows beside the program: the instructions of a core's units in the order and at the times of
// the estimate, and how full its buffers are.
#pragma once

#include <string>

#include "runtime/dump/pass.h"

namespace cubejit {

/// The program before passes, from which everything of the chip is read.
const TileProgram& loweredProgram(const PassStages& stages);

/// Text: the core split, buffers, and what core 0 does, instruction by instruction. Precondition: the machine is an NPU, the program a convolution's.
std::string coreProgram(const PassStages& stages);

/// The same for the page: JSON with buffers (name, capacity, high water), pipes (name, share of the time) and a picture (SVG) of core 0.
std::string chipFacts(const PassStages& stages);

}  // namespace cubejit
