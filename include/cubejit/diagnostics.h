// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a session tells about its work: dumps of everything it generates, profilers and debuggers that are told about
// code, and a log. Results do not depend on any of it; nothing of it is on by default.
#pragma once

#include <string>

#include "cubejit/export.h"
#include "cubejit/result.h"

namespace cubejit {

/// Who is told about generated code.
struct JitProfile {
  bool perfMap = false;  ///< /tmp/perf-PID.map: names for perf
  bool jitDump = false;  ///< a jitdump, for perf inject: names, code and lines. Needs the LLVM component
  bool gdb = false;      ///< GDB's JIT interface: names, lines of listings, unwinding. Needs the LLVM component
  bool vtune = false;    ///< VTune. Needs the LLVM component, and an LLVM built with its support
  bool any() const { return perfMap || jitDump || gdb || vtune; }
};

/// What is logged: one line an event, `cubejit TOPIC key=value ...`; keys of a topic are stable.
struct VerboseTopics {
  bool plan = false;      ///< which plan, and why
  bool dispatch = false;  ///< which ISA and backend, and why
  bool cache = false;     ///< hits, misses, evictions
  bool profile = false;   ///< times of stages and runs
  bool any() const { return plan || dispatch || cache || profile; }
};

struct Diagnostics {
  std::string dumpStages;     ///< of dumpStageNames(): every pass that is compiled is dumped; empty: none
  std::string dumpDirectory;  ///< empty: cubejit-dump-PID in the folder for temporary files
  std::string dumpKernels;    ///< as DumpRequest::kernels
  JitProfile jitProfile;
  /// Folder for the listings that line numbers point into; empty: cubejit-PID in the folder for temporary files.
  std::string jitDirectory;
  VerboseTopics verbose;
  std::string verboseFile;    ///< appended to; empty: standard error
  std::string verboseFilter;  ///< only events of programs with this in their name; * and ? stand for anything
};

/// "perfmap,jitdump,gdb,vtune" in any selection; kUnsupported lists those there are.
CUBEJIT_API Result<JitProfile> parseJitProfile(const std::string& text);
/// "plan,dispatch,cache,profile" in any selection, "all" for every one.
CUBEJIT_API Result<VerboseTopics> parseVerboseTopics(const std::string& text);

/// What CUBEJIT_DUMP (stages), CUBEJIT_DUMP_DIR, CUBEJIT_DUMP_FILTER, CUBEJIT_JIT_PROFILE, CUBEJIT_JIT_DIR, CUBEJIT_VERBOSE,
/// CUBEJIT_VERBOSE_FILE and CUBEJIT_VERBOSE_FILTER say. Every session follows them, so that they work on programs as they are;
/// what a session's own Options say goes first. Ignored in processes that run with more rights than their caller.
CUBEJIT_API Result<Diagnostics> diagnosticsFromEnvironment();

}  // namespace cubejit
