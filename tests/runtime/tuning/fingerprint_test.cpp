// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does a fingerprint tell machines apart that plans may tell apart?
#include "runtime/tuning/fingerprint.h"

#include <gtest/gtest.h>

#include "cubejit/machines/toy.h"
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

// What is modelled, what is timed with copies and what without never share a record; the chip that plans are made for is found again.
TEST(Fingerprint, OfAnEmulationNamesChipProgramAndHost) {
  Machine chip = toyMachine();
  chip.isa = planMachine().isa;
  const std::string model = machineFingerprint(chip), fast = emulationFingerprint(chip, true),
                    faithful = emulationFingerprint(chip, false);
  EXPECT_EQ(fast.find("emulated/toy/"), 0U);
  EXPECT_NE(fast, faithful);
  EXPECT_NE(fast.find("/fast/" + machineFingerprint(planMachine())), std::string::npos);
  EXPECT_EQ(planningFingerprint(fast), model);
  EXPECT_EQ(planningFingerprint(faithful), model);
  EXPECT_EQ(planningFingerprint(model), model);
  EXPECT_EQ(planningFingerprint(machineFingerprint(planMachine())), machineFingerprint(planMachine()));
  chip.buffers.l1Bytes *= 2;
  EXPECT_NE(emulationFingerprint(chip, true), fast);
}

}  // namespace
}  // namespace cubejit
