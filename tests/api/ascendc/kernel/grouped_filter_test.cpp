// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of filter gradients of groups, whose tilings are filled by hand: the right gradient in grouped FRACTAL_Z_3D,
// zeros where it has zeros, however it is cut; and of input gradients of small groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/cube/footprint.h"
#include "api/ascendc/kernel/group_mask.h"
#include "api/ascendc/tiling_values.h"
#include "cubejit/cubejit.h"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "tests/support/ascend_dw_kernel.h"
#include "tests/support/ascend_dx_kernel.h"

namespace cubejit {
namespace {

using ascendc::globalMemory;
using testing::ElementsAre;
using testing::HasSubstr;
using FilterData = AscendC::tiling::Conv3DBackpropFilterTilingData;
using InputTiling = AscendC::tiling::TConv3DBackpropInputTiling;

Problem grouped(std::int64_t cin, std::int64_t cout, std::int64_t groups, Dhw kernel = {2, 3, 2}) {
  Problem p;
  p.batch = 2, p.cin = cin, p.cout = cout, p.groups = groups;
  p.in = Dhw{3, 7, 6}, p.kernel = kernel, p.stride = Dhw{1, 2, 1};
  p.padBefore = p.padAfter = Dhw{0, 1, 0};
  return p;
}

template <class T>
Problem typed(Problem p) {
  p.dtype = ascendc::kDTypeOf<T>;
  return p;
}

NpuReport planned(const Problem& p, Pass pass) {
  NpuPlanOptions options;
  options.kernels = CubeKernels::kAscendC;
  auto report = planOnNpu(p, pass, *machineByName("ascend910b2"), options);
  EXPECT_TRUE(report.ok()) << report.error().message;
  return *report;
}

template <class T>
FilterData filterTiling(const Problem& problem) {
  const Problem p = typed<T>(problem);
  const Machine machine = *machineByName("ascend910b2");
  const TilingPlan plan = planned(p, Pass::kDw).plan;
  FilterData data;
  ascendc::setProblemFields(data.dwTiling, p, p.dtype);
  ascendc::setPlanFields(data.dwTiling, plan);
  const CubeWork work = cubeWorkOf(p, Pass::kDw, machine, CubeKernels::kAscendC);
  data.dwTiling.bl1Bound = static_cast<std::uint32_t>(footprintOf(work, plan).l1B / work.elementBytes);
  return data;
}

template <class T>
std::vector<std::string> expectFilterRight(const Problem& problem, void (*change)(FilterData&) = nullptr) {
  const AscendCase c(problem);
  FilterData data = filterTiling<T>(c.problem);
  if (change != nullptr) change(data);
  auto x = c.pack<T>(TensorId::kX, Layout::kNdc1hwc0, c.x), dy = c.pack<T>(TensorId::kDy, Layout::kNdc1hwc0, c.dy);
  const Problem result = c.with(TensorId::kDw, DType::kF32, Layout::kFractalZ3d, data.dwTiling.channelSize);
  std::vector<float> dw(static_cast<std::size_t>(indexMap(result, TensorId::kDw).elements), 0.0F);
  const auto report = ascendc::launch({}, filterEntry<T>, globalMemory(x), globalMemory(dy), globalMemory(dw), &data);
  EXPECT_TRUE(report.ok()) << report.error().message;
  if (!report.ok()) return {};
  std::vector<float> right(dw.size(), 0.0F);  // what no element of dw is stays zero
  const auto reference = c.reference();
  forEachElement(result, TensorId::kDw,
                 [&](std::size_t plain, std::size_t at) { right[at] = static_cast<float>(reference.dw[plain]); });
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < dw.size(); ++i) {
    if (dw[i] != right[i] && wrong++ < 3) ADD_FAILURE() << "memory " << i << ": " << dw[i] << ", must be " << right[i];
  }
  EXPECT_EQ(wrong, 0U);
  std::int64_t out = 0;
  for (const auto& core : report->cores) out += core.counts.bytes[static_cast<std::size_t>(Path::kL0cToGm)];
  EXPECT_GT(out, 0) << "what is written is counted";
  return report->notes;
}

TEST(GroupedFilter, GroupsThatFillBlocksNeedNoMask) {
  EXPECT_TRUE(expectFilterRight<half>(grouped(64, 32, 2)).empty());
  EXPECT_TRUE(expectFilterRight<bfloat16_t>(grouped(96, 48, 3)).empty());
}

// The table of groups: 16 of them in a block, the last real group not full, groups clipped to one real group.
TEST(GroupedFilter, GroupsThatShareBlocksAreKeptApart) {
  for (const Problem& p : {grouped(40, 40, 40), grouped(20, 20, 20), grouped(40, 40, 5), grouped(12, 12, 4),
                           grouped(24, 36, 3), grouped(78, 28, 2)}) {
    SCOPED_TRACE(std::to_string(p.cin) + " " + std::to_string(p.cout) + " " + std::to_string(p.groups));
    EXPECT_THAT(expectFilterRight<half>(p), ElementsAre(HasSubstr("products of different groups are 0")));
  }
  expectFilterRight<bfloat16_t>(grouped(40, 40, 5, {1, 1, 1}));
}

TEST(GroupedFilter, CutsAlongEveryAxisAreKeptApart) {
  expectFilterRight<half>(grouped(78, 28, 2), [](FilterData& data) {  // 5 blocks by 32 channels in one real group
    auto& t = data.dwTiling;
    t.singleCoreCout = 16, t.singleCoreCin = 32, t.singleCoreHo = 1;
    t.baseM = 16, t.baseN = 48, t.baseK = 16;
    t.stepKa = t.stepKb = 1;
    t.iterateOrder = 1 - t.iterateOrder;
    t.bl1Bound = 1 << 18;
  });
}

TEST(GroupedFilter, MaskKnowsChannelsBehindTapsAndOffsets) {
  ascendc::GroupMask mask;
  EXPECT_TRUE(mask.keeps(3, 100));
  mask.rowsOfGroup = 2, mask.channelsOfGroup = 8, mask.c0 = 16, mask.taps = 3;
  EXPECT_TRUE(mask.keeps(0, 7));
  EXPECT_FALSE(mask.keeps(0, 8));
  EXPECT_TRUE(mask.keeps(3, 16 * 2 + 15));  // the third tap's
  EXPECT_FALSE(mask.keeps(3, 16 * 3));      // the second block's first channel is of group 2
  EXPECT_TRUE(mask.keeps(4, 16 * 3));
  mask.firstRow = 4, mask.firstChannel = 16, mask.firstColumn = 0;
  EXPECT_TRUE(mask.keeps(0, 0));
}

// The input tiling has the number of real groups. Weights off the diagonal are zero, so no mask is needed.
TEST(GroupedInput, GroupsThatShareBlocks) {
  for (const Problem& p : {grouped(40, 40, 40), grouped(20, 20, 20), grouped(40, 40, 5), grouped(12, 12, 4),
                           grouped(24, 36, 3), grouped(78, 28, 2), grouped(64, 32, 2)}) {
    SCOPED_TRACE(std::to_string(p.cin) + " " + std::to_string(p.cout) + " " + std::to_string(p.groups));
    const AscendCase c(p);
    const Problem half16 = typed<half>(c.problem);
    InputTiling t;
    ascendc::setProblemFields(t, half16, DType::kF16);
    ascendc::setPlanFields(t, planned(half16, Pass::kDx).plan);
    t.initOutputFlag = 1;
    auto dy = c.pack<half>(TensorId::kDy, Layout::kNdc1hwc0, c.dy);
    auto w = c.pack<half>(TensorId::kW, Layout::kFractalZ3d, c.w);
    const Problem result = c.with(TensorId::kDx, DType::kF16, Layout::kNdc1hwc0, 16);
    std::vector<half> dx(static_cast<std::size_t>(indexMap(result, TensorId::kDx).elements), half(0.0F));
    const auto report =
        ascendc::launch({}, inputKernel<half>, globalMemory(w), globalMemory(dy), globalMemory(dx), &t, &t, 1);
    ASSERT_TRUE(report.ok()) << report.error().message;
    const auto reference = c.reference();
    std::size_t wrong = 0;
    forEachElement(result, TensorId::kDx, [&](std::size_t plain, std::size_t at) {
      if (static_cast<float>(dx[at]) != static_cast<float>(reference.dx[plain]) && wrong++ < 3)
        ADD_FAILURE() << plain << ": " << static_cast<float>(dx[at]) << ", must be " << reference.dx[plain];
    });
    EXPECT_EQ(wrong, 0U);
  }
}

}  // namespace
}  // namespace cubejit
