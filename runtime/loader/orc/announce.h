// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how debuggers and profilers are told about code that is already in executable memory, whichever backend made it:
// through LLVM's own interfaces to GDB, perf and VTune. Part of the LLVM component.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/binary/object.h"
#include "cubejit/diagnostics.h"
#include "cubejit/result.h"

namespace cubejit {

struct AnnouncedFunction {
  ObjectFunction object;  ///< bytes as loaded; the listing's name is relative to `directory`
  std::uint64_t address = 0;
};

struct Announcement {
  JitProfile listeners;
  HostIsa isa;            ///< of the functions
  std::string name;       ///< of what the functions belong to
  std::string directory;  ///< absolute; holds the listings
  std::vector<AnnouncedFunction> functions;
};

/// Tells every listener asked for but the perf map. The result takes back what can be taken back (GDB) when it is released,
/// which must be before the code is unmapped. Thread-safe.
Result<std::shared_ptr<void>> announceCode(const Announcement& announcement);

}  // namespace cubejit
