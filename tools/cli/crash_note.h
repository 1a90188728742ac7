// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is left behind when generated code crashes under verification: the line that does it again.
#pragma once

#include <string>

namespace cubejit::cli {

/// While it lives, a signal that means a wrong access or instruction prints the last line set and ends the process with 6.
/// At most one at a time.
class CrashNote {
 public:
  CrashNote();
  ~CrashNote();
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;

  void set(const std::string& reproduction);
};

}  // namespace cubejit::cli
