// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the launcher: every block once, on a thread named after its core, in order when one core runs at a time;
// and that whatever a kernel does wrong is told with the core that did it.
#include "cubejit_ascendc/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

#include "api/ascendc/kernel/core_context.h"
#include "cubejit/cubejit.h"
#include "cubejit/machines.h"
#include "kernel_operator.h"

namespace cubejit::ascendc {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Seen {
  std::mutex mutex;
  std::vector<std::pair<std::int64_t, std::string>> blocks;  ///< index, thread
  std::int64_t count = 0;
};

__global__ __aicore__ void look(Seen* seen) {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  const std::lock_guard<std::mutex> lock(seen->mutex);
  seen->blocks.emplace_back(AscendC::GetBlockIdx(), name);
  seen->count = AscendC::GetBlockNum();
}

TEST(Launch, RunsEveryBlockOnACoreOfTheChip) {
  Seen seen;
  LaunchOptions options;
  const auto report = launch(options, look, &seen);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->machine, "ascend910b2");
  EXPECT_EQ(report->cores.size(), 24U);
  EXPECT_EQ(seen.count, 24);
  for (const auto& [block, thread] : seen.blocks) EXPECT_EQ(thread, "core " + std::to_string(block));
  std::sort(seen.blocks.begin(), seen.blocks.end());
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(seen.blocks[i].first, static_cast<std::int64_t>(i));
}

TEST(Launch, TheEnvironmentNamesTheChipWhereTheProgramNamesNone) {
  const auto chip = [](const LaunchOptions& options) {
    const auto report = launch(options, [] {});
    return report.ok() ? report->machine : report.error().message;
  };
  LaunchOptions named;
  named.soc = "Ascend910B4";
  setenv("CUBEJIT_SOC", "310p", 1);
  EXPECT_EQ(chip({}), "ascend310p3");
  EXPECT_EQ(chip(named), "ascend910b4");
  setenv("CUBEJIT_SOC", "Ascend310P9", 1);
  EXPECT_THAT(chip({}), AllOf(HasSubstr("CUBEJIT_SOC: "), HasSubstr("near it are ascend310p1")));
  unsetenv("CUBEJIT_SOC");
}

TEST(Launch, MoreBlocksThanCoresTakeTurnsAndOneThreadKeepsTheirOrder) {
  Seen seen;
  LaunchOptions options;
  options.soc = "ascend910b4";  // 20 cores
  options.blocks = 47;
  options.hostThreads = 1;
  ASSERT_TRUE(launch(options, look, &seen).ok());
  ASSERT_EQ(seen.blocks.size(), 47U);
  EXPECT_EQ(seen.count, 47);
  for (const auto& [block, thread] : seen.blocks) EXPECT_EQ(thread, "core " + std::to_string(block % 20));
  for (std::size_t i = 1; i < 47; ++i) {
    const std::int64_t core = seen.blocks[i].first % 20, before = seen.blocks[i - 1].first % 20;
    EXPECT_TRUE(core == before ? seen.blocks[i].first == seen.blocks[i - 1].first + 20 : core == before + 1);
  }
}

TEST(Launch, RefusesWhatItCannotRun) {
  const auto wrong = [](const LaunchOptions& options) {
    const auto report = launch(options, [] { ADD_FAILURE() << "ran"; });
    EXPECT_FALSE(report.ok());
    EXPECT_EQ(report.ok() ? "" : report.error().message, cubejit_last_error());
    return std::string(cubejit_last_error());
  };
  LaunchOptions options;
  options.soc = "ascend0";
  EXPECT_THAT(wrong(options), HasSubstr("ascend0"));
  options.machine = Machine{};
  EXPECT_THAT(wrong(options), HasSubstr("host has no cube"));
  options.machine = *machineByName("ascend910b2");
  options.blocks = -1;
  EXPECT_THAT(wrong(options), HasSubstr("blocks = -1 must be 0 to 65535"));
  options.blocks = 1;
  options.hostThreads = -2;
  EXPECT_THAT(wrong(options), HasSubstr("hostThreads = -2 must not be negative"));
}

TEST(Launch, SaysWhichCoreThrewOrReachedOutside) {
  std::vector<half> memory(100);
  const auto kernel = [](half* gm) {
    AscendC::GlobalTensor<half> sized, bounded, none;
    sized.SetGlobalBuffer(gm, 10);
    bounded.SetGlobalBuffer(gm);  // bounded by what the launcher was told
    if (AscendC::GetBlockIdx() == 2) {
      sized.SetValue(9, half(1.0F));
      EXPECT_EQ(static_cast<float>(sized[5].GetValue(4)), 1.0F);
      sized.SetValue(10, half(1.0F));
      EXPECT_EQ(static_cast<float>(bounded[50].GetValue(50)), 0.0F);
      bounded(100) = half(3.0F);
      static_cast<void>(none.GetValue(0));
    }
    if (AscendC::GetBlockIdx() == 27) throw std::runtime_error("a reason");
  };
  LaunchOptions options;
  options.blocks = 28;
  const auto report = launch(options, kernel, globalMemory(memory));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(
      report.error().message,
      "core 2, GlobalTensor::SetValue: byte 20 of memory of 20 bytes\n"
      "core 2, GlobalTensor::GetValue: byte 200 of memory of 200 bytes\n"
      "core 2, GlobalTensor::operator(): byte 200 of memory of 200 bytes\n"
      "core 2, GlobalTensor::GetValue: the tensor has no memory: call SetGlobalBuffer first, and check the offset\n"
      "core 3 (GetBlockIdx 27), the kernel: threw a reason");
}

TEST(Launch, CountsFaultsThatItDoesNotList) {
  std::vector<half> memory(1);
  const auto report = launch(
      LaunchOptions{},
      [](half* gm) {
        AscendC::GlobalTensor<half> tensor;
        tensor.SetGlobalBuffer(gm, 1);
        if (AscendC::GetBlockIdx() == 5)
          for (std::uint64_t i = 0; i < 100; ++i) tensor.SetValue(1 + i, half(0.0F));
      },
      globalMemory(memory));
  ASSERT_FALSE(report.ok());
  const std::string& all = report.error().message;
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 32);
  EXPECT_THAT(all, HasSubstr("\nand 68 more"));
}

TEST(GlobalTensor, KnowsItsPlaceAndSize) {
  std::vector<float> memory(20, 2.0F);
  AscendC::GlobalTensor<float> tensor;
  EXPECT_EQ(tensor.GetSize(), 0U);
  tensor.SetGlobalBuffer(memory.data(), memory.size());
  EXPECT_EQ(tensor.GetSize(), 20U);
  EXPECT_EQ(tensor[5].GetSize(), 15U);
  EXPECT_EQ(tensor[5][16].GetSize(), 0U);
  EXPECT_EQ(tensor.GetPhyAddr(), memory.data());
  EXPECT_EQ(tensor[3].GetPhyAddr(4), memory.data() + 7);
  tensor(19) = 5.0F;
  EXPECT_EQ(memory[19], 5.0F);
  EXPECT_EQ(tensor[10].GetValue(9), 5.0F);
}

TEST(Elements, AreRoundedOnceAndToEven) {
  EXPECT_EQ(half(2049.0F).bits(), half(2048.0F).bits());
  EXPECT_EQ(static_cast<float>(bfloat16_t(257.0F)), 256.0F);
  half h = 1;
  h += 0.5F;
  h *= 4.0F;
  h -= 1.0F;
  h /= 5.0F;
  EXPECT_EQ(static_cast<float>(h), 1.0F);
  EXPECT_EQ(bfloat16_t::fromBits(0x4000).bits(), 0x4000);
  EXPECT_EQ(static_cast<float>(bfloat16_t::fromBits(0x4000)), 2.0F);
}

}  // namespace
}  // namespace cubejit::ascendc
