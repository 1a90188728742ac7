// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how what the cores of an emulated chip did is shown: as a Chrome trace, which Perfetto opens, and as a picture. Leaves
// recording it to emulation.h and to launchers. All functions are pure, except those that write files; all are thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubejit/core_counts.h"
#include "cubejit/export.h"
#include "cubejit/machine.h"
#include "cubejit/result.h"

namespace cubejit {

/// A run of cores. Runs follow one another in time.
struct TimelinePart {
  std::string name;
  double cycles = 0;                                ///< of the slowest core
  const std::vector<TraceEvent>* events = nullptr;  ///< must outlive the part; cycles since the run began
  std::int64_t dropped = 0;  ///< instructions beyond the trace's limit, which no event stands for
};

/// JSON in the trace event format: a process a core, a thread a pipe, microseconds at the chip's clock. An arrow leads from the instruction
/// that another one waited for, named as hardware events are: MTE2_MTE1, MTE1_M, ...
CUBEJIT_API std::string chromeTrace(const Machine& machine, const std::vector<TimelinePart>& parts);

/// SVG: a row a core with a line a pipe; what is too short to be seen is drawn as shades of how busy the pipe is.
CUBEJIT_API std::string timelineSvg(const Machine& machine, const std::vector<TimelinePart>& parts);

/// A page of its own, to be explored: zoom, fold, what an instruction waited for, buffers and memory over time, the critical path. It has
/// the first 200,000 events, core by core, and says how many it leaves out and how many the trace dropped.
CUBEJIT_API std::string timelinePage(const Machine& machine, const std::vector<TimelinePart>& parts);

/// Files that are wanted; empty = not.
struct TimelineFiles {
  std::string trace;     ///< chromeTrace()
  std::string timeline;  ///< timelinePage() if its name ends in .html, else timelineSvg()
  bool any() const { return !trace.empty() || !timeline.empty(); }
};

/// Errors: a file that cannot be written (kIo).
CUBEJIT_API Status writeTimelines(const TimelineFiles& files, const Machine& machine,
                                  const std::vector<TimelinePart>& parts);

}  // namespace cubejit
