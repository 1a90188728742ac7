// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a test verifies plans: a session that uses all its threads however small the work, a machine whose
// small L2 makes parts of images reduction blocks, too, and 1 and 2 threads that must agree in every bit.
#pragma once

#include <gtest/gtest.h>

#include "cubejit/cubejit.hpp"
#include "runtime/host/cpu.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/problem_text.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/amx_emulator.h"

namespace cubejit {

inline Options eagerOptions(IsaLevel level) {
  if (isaOf(level).matrixUnit() != nullptr && tilesRun() && !checkRunnable(level).ok()) tilesAreImitated() = true;
  Options options;
  options.wakeCycles = 0;
  options.isa = level;
  options.verify = true;  // what is read beyond a buffer may be harmless, or a NaN, as memory has it
  return options;
}

inline Machine machineOfSmallL2(IsaLevel level) {
  Machine machine;
  machine.cores = 2;
  machine.isa = isaOf(level);
  machine.buffers = Buffers{32 << 10, 16 << 10, 2048, 8 << 10, 32 << 20};
  return machine;
}

/// Fails the test, with the command that shows it, and returns false if the plan's gradient is not exact.
inline bool planIsRight(Session& session, const Problem& problem, const TilingPlan& plan, std::uint64_t seed) {
  const VerifyOutcome outcome =
      verifyProblem(session, VerifyRequest{problem, maskOf(plan.pass), {1, 2}, seed, false, {plan}});
  EXPECT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed)
      << outcome.message << "\ncubejit verify " << toFlags(problem) << "\n"
      << planToJson(plan);
  return outcome.verdict == VerifyOutcome::Verdict::kPassed;
}

}  // namespace cubejit
