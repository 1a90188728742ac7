// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of a core's surroundings: how faults are told, and which memory bounds a tensor.
#include "api/ascendc/kernel/core_context.h"

#include <gtest/gtest.h>

#include "cubejit/machines.h"

namespace cubejit::ascendc {
namespace {

Options onAscend910b2() {
  Options options;
  options.machine = machineByName("ascend910b2").value();
  return options;
}

TEST(CoreContext, TheSameFaultOfManyCoresIsOneLine) {
  std::vector<Fault> faults;
  for (int core = 0; core < 7; ++core) faults.push_back({"core " + std::to_string(core), "here: a rule", 2});
  faults.insert(faults.begin() + 1, {"core 0", "there: another"});
  EXPECT_EQ(describe(faults),
            "core 0, core 1, core 2, core 3 and 3 more, here: a rule (14 times)\ncore 0, there: another");
  EXPECT_EQ(describe({}), "");
}

TEST(CoreContext, FaultsAreCountedAndBounded) {
  CoreContext core(onAscend910b2(), "", 3);
  core.block = 3;
  for (int i = 0; i < 40; ++i) core.fault("here", "rule " + std::to_string(i % 33));
  EXPECT_EQ(core.faults().size(), 32U);
  EXPECT_EQ(core.faults().front().core, "core 3");
  EXPECT_EQ(core.faults().front().times, 2);
  EXPECT_EQ(core.droppedFaults(), 1);
  core.forgetFaults();
  EXPECT_TRUE(core.faults().empty());
  core.note("once");
  core.note("once");
  EXPECT_EQ(core.notes().size(), 1U);
}

TEST(CoreContext, MemoryIsBoundedByAllThatIsKnown) {
  CoreContext core(onAscend910b2(), "", 0);
  std::vector<char> bytes(100);
  const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
  EXPECT_FALSE(core.boundsOf({bytes.data(), bytes.data(), 0}).known());
  EXPECT_EQ(core.boundsOf({bytes.data() + 4, bytes.data(), 50}).end, at + 50);
  const std::vector<GlobalMemory> memory{{bytes.data() + 10, 60}};
  core.memory = &memory;
  const Bounds both = core.boundsOf({bytes.data() + 30, bytes.data() + 20, 70});
  EXPECT_EQ(both.begin, at + 20);
  EXPECT_EQ(both.end, at + 70);
  EXPECT_TRUE(both.holds(at + 60, 10));
  EXPECT_FALSE(both.holds(at + 60, 11));
  EXPECT_FALSE(both.holds(at + 19, 1));
  EXPECT_FALSE(both.holds(at + 71, 0));
  EXPECT_EQ(core.boundsOf({bytes.data(), bytes.data() + 80, 5}).end, at + 85) << "memory that it is not in";
}

// An emulated core keeps its memory for the next object.
TEST(CoreContext, EmulatedCoresAreUsedAgain) {
  CoreContext core(onAscend910b2(), "", 5);
  auto first = core.takeCore(), second = core.takeCore();
  EXPECT_EQ(first->index(), 5);
  const KernelCore *given = first.get(), *kept = second.get();
  core.giveBack(std::move(first));
  const auto again = core.takeCore(), other = core.takeCore();
  EXPECT_EQ(again.get(), given);
  EXPECT_NE(other.get(), given);
  EXPECT_NE(other.get(), kept);
}

TEST(CoreContext, AThreadHasOneCoreAtATime) {
  CoreContext core(onAscend910b2(), "", 5);
  core.block = 5, core.blocks = 9;
  CoreContext* before = enterCore(&core);
  EXPECT_EQ(&currentCore(), &core);
  EXPECT_EQ(blockIndex(), 5);
  EXPECT_EQ(blockCount(), 9);
  EXPECT_EQ(enterCore(before), &core);
  EXPECT_FALSE(currentCore().launched);
  EXPECT_EQ(currentCore().machine().name, "ascend910b2");
}

}  // namespace
}  // namespace cubejit::ascendc
