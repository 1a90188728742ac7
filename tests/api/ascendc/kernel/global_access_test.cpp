// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of bounds: every element touched lies in what is known of the tensor's memory.
#include "api/ascendc/kernel/global_access.h"

#include <gtest/gtest.h>

#include "cubejit/machines.h"

namespace cubejit::ascendc {
namespace {

TEST(GlobalAccess, ReportsElementsOutsideTheMemory) {
  Options options;
  options.machine = machineByName("ascend910b2").value();
  const CoreContext core(options, "", 0);
  std::vector<std::uint16_t> memory(50);
  const GlobalRange range{memory.data() + 10, memory.data(), 100};
  const auto outside = [&](const GlobalRange& r, Reach reach) {
    return outsideMemory(core, "weight", "read", r, reach, DType::kF16);
  };
  EXPECT_EQ(outside(range, {0, 39}), "");
  EXPECT_EQ(outside(range, {-10, 39}), "");
  EXPECT_EQ(
      outside(range, {0, 40}),
      "weight: elements 0 to 40 from where it begins are read, its memory has 40 from there; check the offset it was "
      "given and the single shape");
  EXPECT_NE(outside(range, {-11, 0}), "");
  EXPECT_EQ(outside(range, {}), "") << "nothing is touched";
  EXPECT_EQ(outside({}, {}), "");
  EXPECT_EQ(outside({}, {0, 0}), "weight has no memory: call SetGlobalBuffer first, and check the offset");
  EXPECT_EQ(outside({memory.data(), memory.data(), 0}, {0, 1000}), "") << "nobody said how large it is";
  EXPECT_NE(outside({memory.data() - 1, memory.data(), 100}, {5, 6}), "") << "begins before its memory";
}

TEST(GlobalAccess, OperandsBeginAtRowZero) {
  std::vector<float> memory(50);
  const TaskOperand operand = operandOf({memory.data() + 20, memory.data(), 200}, 15, {2, 6}, DType::kF32);
  EXPECT_EQ(static_cast<const void*>(operand.data), memory.data() + 5);
  EXPECT_EQ(static_cast<const void*>(operand.read), memory.data() + 22);
  EXPECT_EQ(operand.bytes, 5 * 4);
}

}  // namespace
}  // namespace cubejit::ascendc
