// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a verification says about a plan: one for which there was no memory is not a wrong one.
#pragma once

#include "runtime/tuning/lab.h"
#include "runtime/verify/verify_problem.h"

namespace cubejit {

/// Multiply-adds above which a plan is verified by a sample of its results.
inline constexpr double kVerifiedMultiplyAdds = 5e6;

inline LabReply replyOf(const VerifyOutcome& outcome) {
  using Verdict = VerifyOutcome::Verdict;
  if (outcome.verdict == Verdict::kPassed) return {};
  const bool wrong = outcome.verdict == Verdict::kFailed && outcome.refused != ErrorCode::kLimitExceeded;
  return {wrong ? TrialStatus::kWrong : TrialStatus::kFailed, outcome.message, {}, {}};
}

}  // namespace cubejit
