// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the sanitiser of emulated chips tells: what a real chip would get wrong, though the emulation, which runs one instruction
// after the other, gets it right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubejit/export.h"

namespace cubejit {

enum class FindingKind : std::uint8_t {
  kRace,      ///< two units or cores touch the same bytes, one of them writes, and nothing says which is first
  kInit,      ///< bytes are read that nobody wrote, or an output is never written
  kBounds,    ///< bytes outside a buffer, a tensor, or the elements of a view
  kSync,      ///< a flag that is set and never awaited, awaited and never set, or set twice; a deadlock
  kOverwrite  ///< results are computed and lost, or written twice
};
constexpr const char* toString(FindingKind k) {
  constexpr const char* kNames[] = {"race", "init", "bounds", "sync", "overwrite"};
  return kNames[static_cast<std::size_t>(k)];
}

/// Who does something: an instruction of a unit of a core.
struct FindingParty {
  std::int64_t core = -1;
  std::string unit;          ///< "cube", "fixpipe", ... as in dumps; "" where nobody is named
  std::string instruction;   ///< the call, as in dumps, e.g. "mmad"
  std::int64_t number = -1;  ///< of the instruction in its task, from 0; -1: of a kernel's call
  std::string phase;         ///< of the program
  std::int64_t task = -1;    ///< of the phase, from 0
  std::int64_t block = -1;   ///< base blocks of the task that left L0C before
  bool known() const { return core >= 0 || !unit.empty(); }
};

struct Finding {
  FindingKind kind = FindingKind::kRace;
  FindingParty party, other;        ///< `other`: whom it collides with; not known() if there is none
  std::string buffer;               ///< "L0A", a tensor's name, ...; "" for flags
  std::int64_t begin = 0, end = 0;  ///< bytes of it
  std::string what;                 ///< the rule that is broken
  std::int64_t times = 1;           ///< the same instruction in other tasks included
};
/// One line: kind, who, where, the other party and the rule.
CUBEJIT_API std::string describe(const Finding& finding);

struct SanitizerReport {
  std::vector<Finding> findings;       ///< the first 64 that differ
  std::int64_t dropped = 0;            ///< that differ, beyond these
  std::vector<std::string> unchecked;  ///< what was too large to be followed
  bool ok() const { return findings.empty(); }
};

}  // namespace cubejit
