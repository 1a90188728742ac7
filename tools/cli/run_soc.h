// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `run --soc` adds to `run`: the emulated chip, its counts, its trace and timeline.
#pragma once

#include "cubejit/cubejit.hpp"
#include "cubejit/timeline.h"
#include "request.h"

namespace cubejit::cli {

/// Prints what a run counts, and writes the files. Nothing is printed if anything is wrong.
Status tellOfChip(const Executable& executable, const Machine& chip, const TimelineFiles& files, bool json);

/// The tables of one pass: paths, buffers, cores.
void printCounts(const Machine& machine, const TilingPlan& plan, const EmulationReport& report);

}  // namespace cubejit::cli
