// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `run --soc` adds to `run`: the emulated chip, its counts, its trace and timeline.
#pragma once

#include "cubejit/emulation.h"
#include "cubejit/timeline.h"
#include "request.h"

namespace cubejit::cli {

/// Computes the gradients of the first problem and prints what was counted. Nothing is printed or written if anything is wrong.
Status runOnSoc(const Request& request, const Tensors& tensors, const TimelineFiles& files, bool json);

/// The tables of one gradient: paths, buffers, cores.
void printCounts(const Machine& machine, Gradient gradient, const EmulationReport& report);

}  // namespace cubejit::cli
