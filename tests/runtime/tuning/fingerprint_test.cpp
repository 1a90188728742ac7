// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does a fingerprint tell machines apart that plans may tell apart?
#include "runtime/tuning/fingerprint.h"

#include <gtest/gtest.h>

#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

TEST(Fingerprint, NamesTheIsaAndChangesWithWhatPlansSee) {
  const Machine m = planMachine();
  const std::string print = machineFingerprint(m);
  EXPECT_EQ(print, machineFingerprint(m));
  EXPECT_NE(print.find(std::string("/") + toString(m.isa.level) + "/"), std::string::npos);
  Machine other = m;
  other.cores += 1;
  EXPECT_NE(machineFingerprint(other), print);
  other = m;
  other.buffers.l1Bytes *= 2;
  EXPECT_NE(machineFingerprint(other), print);
}

}  // namespace
}  // namespace cubejit
