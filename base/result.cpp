// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the names of error codes and stages, as messages and JSON show them.
#include "cubejit/result.h"

namespace cubejit {

const char* toString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidProblem: return "invalid_problem";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kNoFeasiblePlan: return "no_feasible_plan";
    case ErrorCode::kLimitExceeded: return "limit_exceeded";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kInternal: return "internal";
  }
  return "unknown";
}

const char* toString(Stage stage) {
  static constexpr const char* kNames[] = {"problem", "plan", "tile", "vector", "emit", "load", "run"};
  return kNames[static_cast<int>(stage)];
}

}  // namespace cubejit
