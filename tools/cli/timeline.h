// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how what the cores did is shown: as a Chrome trace, which Perfetto opens, and as a picture.
#pragma once

#include <string>
#include <vector>

#include "cubejit/emulation.h"

namespace cubejit::cli {

/// One gradient of a run. Gradients follow one another in time.
struct TimelinePart {
  std::string name;
  const EmulationReport* report = nullptr;
};

/// JSON in the trace event format: a process a core, a thread a pipe, microseconds at the chip's clock.
std::string chromeTrace(const Machine& machine, const std::vector<TimelinePart>& parts);

/// A row a core with a line a pipe; what is too short to be seen is drawn as shades of how busy the pipe is.
std::string timelineSvg(const Machine& machine, const std::vector<TimelinePart>& parts);

}  // namespace cubejit::cli
