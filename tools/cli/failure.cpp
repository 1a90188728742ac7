// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the look of errors.
#include "failure.h"

#include <fmt/core.h>

#include <cstdio>

namespace cubejit::cli {

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
  std::size_t begin = 0;
  while (begin <= error.message.size()) {
    const std::size_t end = std::min(error.message.find('\n', begin), error.message.size());
    fmt::print(stderr, "error[{}]: {}\n", toString(error.code), error.message.substr(begin, end - begin));
    begin = end + 1;
  }
  if (error.code == ErrorCode::kInternal)
    fmt::print(stderr, "  = help: this is a bug in cubejit; please report it with the line below\n");
  if (!reproduction.empty()) fmt::print(stderr, "  = repro: {}\n", reproduction);
  return exitCode(error.code);
}

}  // namespace cubejit::cli
