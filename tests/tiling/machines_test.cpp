// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the table of NPUs: names, numbers of chips that everyone knows, and rules for machines of one's own.
#include "cubejit/machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace cubejit {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Machine named(const std::string& name) {
  const auto machine = machineByName(name);
  EXPECT_TRUE(machine.ok()) << name;
  return machine.ok() ? *machine : Machine{};
}

TEST(Machines, EveryNameIsFoundInAnyCaseAndIsSound) {
  const std::vector<std::string> names = machineNames();
  EXPECT_EQ(names.size(), 64U);  // 63 chips and the toy
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const std::string& name : names) {
    const Machine m = named(name);
    EXPECT_EQ(m.name, name);
    EXPECT_TRUE(m.isEmulated());
    EXPECT_THAT(checkMachine(m), IsEmpty()) << name;
  }
  EXPECT_EQ(named("Ascend910B2").name, "ascend910b2");
}

TEST(Machines, KnownChipsHaveTheirNumbers) {
  const Machine a2 = named("ascend910b2");
  EXPECT_EQ(a2.cores, 24);
  EXPECT_EQ(a2.npu.vectorCores, 48);
  EXPECT_EQ(a2.npu.mhz, 1800);
  EXPECT_EQ(a2.buffers.l0aBytes, 65536);
  EXPECT_EQ(a2.buffers.l0cBytes, 131072);
  EXPECT_EQ(a2.buffers.l1Bytes, 524288);
  EXPECT_EQ(a2.buffers.ubBytes, 196608);
  EXPECT_EQ(a2.buffers.l2Bytes, 201326592);
  EXPECT_EQ(a2.npu.paths.l2Read, 110);
  EXPECT_EQ(a2.npu.paths.l2Write, 86);
  EXPECT_EQ(named("ascend310p3").cores, 8);
  EXPECT_EQ(named("ascend310p3").buffers.ubBytes, 262144);
  EXPECT_EQ(named("ascend310p3").npu.paths.ubToDdr, 17);
  EXPECT_EQ(named("ascend910a").buffers.l1Bytes, 1048576);
  EXPECT_FALSE(named("ascend910a").npu.fixpipe);
  EXPECT_EQ(named("ascend910_9391").npu.mhz, 1850);
  EXPECT_EQ(named("ascend950pr_9599").cores, 36);
  EXPECT_EQ(named("ascend950pr_9599").buffers.ubBytes, 253952);
  EXPECT_EQ(named("ascend950dt_95a1").npu.paths.ddrRead, 80);
  EXPECT_EQ(named("ascend310b4").npu.paths.ubToDdr, 64);
  EXPECT_EQ(named("ascend310b3").npu.paths.ubToDdr, 128);
  EXPECT_EQ(named("ascend310").npu.paths.ddrRead, 67);
}

TEST(Machines, TypesAreThoseOfTheCube) {
  EXPECT_EQ(named("ascend910a").npu.cube.product(DType::kBf16), nullptr);
  EXPECT_EQ(named("ascend310p1").npu.cube.product(DType::kF32), nullptr);
  EXPECT_EQ(named("ascend910b1").npu.cube.product(DType::kF32)->cycles, 2);       // 4 of k a cycle
  EXPECT_EQ(named("ascend950pr_950z").npu.cube.product(DType::kF32)->cycles, 8);  // 1 of k a cycle
  // The width of hf32 is the chip's, whichever was asked for.
  EXPECT_EQ(named("ascend910b1").npu.cube.product(DType::kHf32Low)->operand, DType::kHf32);
  EXPECT_EQ(named("ascend950pr_950z").npu.cube.product(DType::kHf32)->operand, DType::kHf32Low);
  EXPECT_THAT(machinesWith(DType::kBf16),
              AllOf(Contains("ascend910b4-1"), Contains("ascend350_354f"), Not(Contains("ascend910b"))));
}

TEST(Machines, AnUnknownNameIsToldItsNeighbours) {
  const auto unknown = machineByName("ascend910b9");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(unknown.error().message,
              AllOf(HasSubstr("ascend910b9"), HasSubstr("ascend910b2"), Not(HasSubstr("ascend310"))));
  EXPECT_THAT(machineByName("910c").error().message, AllOf(HasSubstr("ascend910b2"), Not(HasSubstr("ascend950"))));
  const std::string families = "there are the families 310, 310b, 310p, 350, 910, 910b, 910_93, 950, 950pr, 950dt";
  for (const char* far : {"", "xpu", "ascend", "ascned910b2"})
    EXPECT_THAT(machineByName(far).error().message, HasSubstr(families)) << far;
}

TEST(Machines, AFamilyStandsForOneOfItsChips) {
  EXPECT_EQ(named("910b").name, "ascend910b2");
  EXPECT_EQ(named("ascend950").name, "ascend950pr_9599");
  EXPECT_EQ(named("Ascend950DT").name, "ascend950dt_9591");
  EXPECT_EQ(named("ascend910_93").name, "ascend910_9391");
  EXPECT_EQ(named("ascend310p").name, "ascend310p3");
  EXPECT_EQ(named("310").name, "ascend310");
  EXPECT_EQ(named("910").name, "ascend910a");
  EXPECT_EQ(named("ascend910b").name, "ascend910b") << "a chip's own name is that chip";
}

TEST(CheckMachine, EveryBrokenRuleIsNamedWithItsValue) {
  Machine m = named("toy");
  m.name = "";
  m.cores = 0;
  m.npu.mhz = -1;
  m.buffers.l0cBytes = 100;
  m.npu.paths.l2Read = 0;
  m.npu.limits.strideHw = 0;
  m.npu.cube.products.add({DType::kF16, {16, 16, 8}, 0});
  EXPECT_THAT(checkMachine(m),
              AllOf(Contains("name must not be empty"), Contains("cores = 0 must be 1 to 4096"),
                    Contains(HasSubstr("mhz = -1")), Contains(HasSubstr("l0c_bytes = 100 must be 1024")),
                    Contains(HasSubstr("rates.l2_read")), Contains(HasSubstr("limits.stride_hw = 0")),
                    Contains("cubes.f16 is listed twice"), Contains(HasSubstr("cubes.f16.n = 8 must be 16")),
                    Contains(HasSubstr("cubes.f16.cycles"))));
  m.npu.cube.products = {};
  EXPECT_THAT(checkMachine(m), Contains(HasSubstr("cubes must list at least one type")));
  m = named("toy");
  m.name = "toy l1=256 rates.l2_read=1e+06";
  EXPECT_THAT(checkMachine(m), IsEmpty()) << "as explorations name their points";
  for (const char* name : {"../toy", "toy\x1b[2J", "toy\"; touch x", "$(toy)", "*/ toy"}) {
    m.name = name;
    EXPECT_THAT(checkMachine(m), Contains(HasSubstr("name must be of letters"))) << name;
  }
}

}  // namespace
}  // namespace cubejit
