// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the look of errors.
#include "failure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "tiling/no_throw.h"

namespace cubejit::cli {
namespace {

// Help for an error of a command that was typed so: plans that --plan gave are the caller's to mend.
const char* helpFor(ErrorCode code, const std::string& typed) {
  if (code == ErrorCode::kNoFeasiblePlan && typed.find(" --plan") != std::string::npos)
    return "change the fields named above in the file that --plan names, or leave --plan out: then a plan is chosen";
  switch (code) {
    case ErrorCode::kInvalidProblem:
      return "`cubejit COMMAND --help` shows each flag with its form; nothing was written";
    case ErrorCode::kUnsupported: return "`cubejit targets` shows what is available here";
    case ErrorCode::kNoFeasiblePlan: return "smaller strides, paddings or kernels leave room for a plan";
    case ErrorCode::kLimitExceeded: return "fewer threads or a smaller batch need less memory";
    case ErrorCode::kIo: return "look at the file, its folder and the space there is; files stand whole or not at all";
    case ErrorCode::kInternal: return "this is a bug in cubejit; please report it with the line below";
  }
  return "";
}

void printLines(const char* code, const std::string& message) {
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    fmt::print(stderr, "error[{}]: {}\n", code, printable(message.substr(begin, end - begin)));
    begin = end + 1;
  }
}

}  // namespace

int exitCode(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidProblem: return 2;
    case ErrorCode::kUnsupported:
    case ErrorCode::kNoFeasiblePlan: return 3;
    case ErrorCode::kLimitExceeded: return 4;
    case ErrorCode::kIo: return 5;
    case ErrorCode::kInternal: return 6;
  }
  return 6;
}

int report(const Error& error, const std::string& reproduction) {
  printLines(toString(error.code), error.message);
  fmt::print(stderr, "  = help: {}\n  = repro: {}\n", helpFor(error.code, reproduction), printable(reproduction));
  return exitCode(error.code);
}

int reportUsage(const std::string& what, const std::string& reproduction) {
  printLines("usage", what);
  fmt::print(stderr,
             "  = help: `cubejit --help` lists the commands, `cubejit COMMAND --help` their flags\n  = repro: {}\n",
             printable(reproduction));
  return 2;
}

int reportNothingChecked(const std::string& what, const std::string& help, const std::string& reproduction) {
  printLines("nothing_checked", what);
  fmt::print(stderr, "  = help: {}\n  = repro: {}\n", help, printable(reproduction));
  return 7;
}

int reportCaught() noexcept {
  const Error error = caughtError(Stage::kRun);
  for (const char* text :
       {"error[", toString(error.code), "]: ", error.message.c_str(), "\n  = help: ", helpFor(error.code, {}), "\n"})
    std::fputs(text, stderr);
  return exitCode(error.code);
}

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t\n\"'\\$`&|;<>()*?[]{}#~!") == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string commandLine(int argc, const char* const* argv) {
  std::string line = "cubejit";
  for (int i = 1; i < argc; ++i) line += " " + quoted(argv[i]);
  return line;
}

}  // namespace cubejit::cli
