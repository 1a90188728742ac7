// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a failed command ends: what it prints on stderr and its exit code.
#pragma once

#include <string>

#include "cubejit/result.h"
#include "runtime/text/printable.h"

namespace cubejit::cli {

/// 2 invalid input, 3 unsupported here, 4 resources, 5 files, 6 a bug of ours. (0 is success, 1 a check that failed, 7 none was made.)
int exitCode(ErrorCode code);

/// Prints `error[code]: ...`, one broken rule a line, a hint and how to reproduce it; returns the exit code.
int report(const Error& error, const std::string& reproduction);

/// The same for a command line that cannot be read.
int reportUsage(const std::string& what, const std::string& reproduction);

/// The same for a check that checked nothing; `help` says what would let it.
int reportNothingChecked(const std::string& what, const std::string& help, const std::string& reproduction);

/// The same for what is being caught; needs no memory.
int reportCaught() noexcept;

/// A word that a shell reads back as it is.
std::string quoted(const std::string& word);

/// What was typed, quoted so that a shell reads it back.
std::string commandLine(int argc, const char* const* argv);

}  // namespace cubejit::cli
