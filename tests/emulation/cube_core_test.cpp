// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a core is used directly: tasks that begin anywhere, blocks that go to any layout, and what is wrong said with core, block and
// rule.
#include "tests/support/unit_models/cube_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "cubejit/emulation.h"
#include "cubejit/float16.h"
#include "cubejit/machines.h"
#include "runtime/verify/format_tensor.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/reference_conv.h"
#include "tests/support/unit_models/move_out.h"
#include "tests/support/unit_models/operand_tables.h"
#include "tests/support/unit_models/weight_sums.h"

namespace cubejit {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CubeCoreTest : public ::testing::Test {
 protected:
  CubeCoreTest() : machine_(*machineByName("ascend910b2")) {
    p_.rank = 2;
    p_.cin = 24;
    p_.cout = 40;
    p_.in = {1, 10, 12};
    p_.kernel = {1, 3, 3};
    p_.stride = {1, 1, 1};
    p_.dilation = {1, 1, 1};
    p_.padBefore = p_.padAfter = {0, 1, 1};
    p_.out = p_.in;
    p_.dtype = DType::kF16;
    p_.layout = Layout::kNdc1hwc0;
    p_.formats[static_cast<std::size_t>(TensorId::kW)] = TensorFormat{DType::kF16, Layout::kFractalZ3d, {}};
    std::mt19937_64 random(3);
    for (const TensorId t : {TensorId::kDy, TensorId::kX, TensorId::kW}) {
      plain_[static_cast<std::size_t>(t)] = randomIntegers(random, plainElements(p_, t), 400);
      auto& memory = memory_[static_cast<std::size_t>(t)];
      memory.resize(static_cast<std::size_t>(formatBytes(p_, t)));
      encodeTensor(p_, t, plain_[static_cast<std::size_t>(t)], memory.data());
    }
    operands_ = {view(TensorId::kDy), view(TensorId::kX), view(TensorId::kW)};
  }
  GlobalView view(TensorId t) {
    auto& memory = memory_[static_cast<std::size_t>(t)];
    memory.resize(static_cast<std::size_t>(formatBytes(p_, t)));
    return {reinterpret_cast<std::byte*>(memory.data()), static_cast<std::int64_t>(memory.size()),
            formatOf(p_, t).dtype, indexMap(p_, t)};
  }
  CubeJob job(Pass pass) {
    NpuPlanOptions options;
    options.kernels = CubeKernels::kAscendC;
    const auto report = planOnNpu(p_, pass, machine_, options);
    EXPECT_TRUE(report.ok());
    const auto made = makeCubeJob(p_, report->plan, machine_, CubeKernels::kAscendC);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return *made;
  }

  Machine machine_;
  Problem p_;
  std::array<std::vector<float>, 6> plain_;
  std::array<std::vector<char>, 6> memory_;
  GlobalOperands operands_;
};

TEST_F(CubeCoreTest, TasksBeginAnywhereAndBlocksGoToAnyLayout) {
  const CubeJob job = this->job(Pass::kDx);
  const auto core = CubeCore::create(machine_, 5);
  ASSERT_TRUE(core.ok());
  PassMask mask;
  mask.dx = true;
  const auto want = referenceResults(plainProblem(p_), mask, plain_[0], plain_[1], plain_[2]);
  for (const Layout layout : {Layout::kNdc1hwc0, Layout::kNcdhw, Layout::kNdhwc}) {
    for (const DType type : {DType::kF16, DType::kF32, DType::kBf16}) {
      p_.formats[static_cast<std::size_t>(TensorId::kDx)] = TensorFormat{type, layout, {}};
      memory_[static_cast<std::size_t>(TensorId::kDx)].clear();
      const GlobalView dx = view(TensorId::kDx);
      CoreTask task;  // rows 3 to 6, channels 16 to 23
      task.start = {3 * 12, 0, 16};
      task.extent = {4 * 12, 9 * 48, 8};
      const auto begun = (*core)->begin(job, operands_, task);
      ASSERT_TRUE(begun.ok()) << begun.error().message;
      while (*(*core)->iterate()) {
        const CubeBlock& b = (*core)->block();
        EXPECT_EQ((*core)->sum(0, 0), want.dx[static_cast<std::size_t>(16 * 120 + 36 + b.m0)]);
        const auto written = (*core)->write(BlockTarget{dx});
        ASSERT_TRUE(written.ok()) << written.error().message;
      }
      const auto got = decodeTensor(p_, TensorId::kDx, memory_[static_cast<std::size_t>(TensorId::kDx)].data()).plain;
      for (std::int64_t i = 0; i < 24 * 120; ++i) {
        const bool inside = i / 120 >= 16 && i % 120 / 12 >= 3 && i % 120 / 12 < 7;
        const auto at = static_cast<std::size_t>(i);
        EXPECT_EQ(got[at], inside ? roundedTo(type, static_cast<float>(want.dx[at])) : 0.0F);
      }
    }
  }
}

TEST_F(CubeCoreTest, PartsOfDwAddUp) {
  const CubeJob job = this->job(Pass::kDw);
  const auto core = CubeCore::create(machine_, 0);
  p_.formats[static_cast<std::size_t>(TensorId::kDw)] = TensorFormat{DType::kF32, Layout::kFractalZ3d, {}, 16};
  const GlobalView dw = view(TensorId::kDw);
  std::fill(memory_[static_cast<std::size_t>(TensorId::kDw)].begin(),
            memory_[static_cast<std::size_t>(TensorId::kDw)].end(), 'A');  // the first part replaces it
  for (const std::int64_t row : {0, 4, 8}) {
    CoreTask task;
    task.start.k = row * 12;
    task.extent = {48, 4 * 12, 9 * 32};
    ASSERT_TRUE((*core)->begin(job, operands_, task).ok());
    while (*(*core)->iterate()) {
      BlockTarget target{dw};
      target.add = true;
      target.fresh = row == 0;
      ASSERT_TRUE((*core)->write(target).ok());
    }
  }
  PassMask mask;
  mask.dw = true;
  const auto want = referenceResults(plainProblem(p_), mask, plain_[0], plain_[1], plain_[2]);
  const auto got = decodeTensor(p_, TensorId::kDw, memory_[static_cast<std::size_t>(TensorId::kDw)].data()).plain;
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], want.dw[i]) << i;
}

TEST_F(CubeCoreTest, WhatIsWrongIsSaidWithCoreBlockAndRule) {
  const CubeJob job = this->job(Pass::kDx);
  const auto core = CubeCore::create(machine_, 7);
  EXPECT_THAT((*core)->iterate().error().message,
              AllOf(HasSubstr("core 7: "), HasSubstr("begin one before iterating")));
  CoreTask task;
  task.extent = job.plan.cube().singleShape;
  const auto refused = [&] { return (*core)->begin(job, operands_, task).error().message; };
  task.start = {7, 0, 0};
  EXPECT_THAT(refused(), HasSubstr("start m = 7 must be a multiple of 12"));
  task.start = {240, 0, 40};
  EXPECT_THAT(refused(), AllOf(HasSubstr("start m = 240 must be 0 to 119"), HasSubstr("start n = 40")));
  task.start = {};
  task.group = 1;
  EXPECT_THAT(refused(), HasSubstr("group = 1 must be 0 to 0"));
  task.group = 0;
  operands_.dy.bytes = 100;
  EXPECT_THAT(refused(), HasSubstr("dy needs 11504 bytes for this task, but has 100"));
  operands_.dy.bytes = -1;
  operands_.w.type = DType::kBf16;
  EXPECT_THAT(refused(), HasSubstr("w is bf16 but the tiling multiplies f16"));
  operands_.w.type = DType::kF16;
  ASSERT_TRUE((*core)->begin(job, operands_, task).ok());
  EXPECT_THAT((*core)->write(BlockTarget{}).error().message, HasSubstr("iterate before writing"));
  ASSERT_TRUE(*(*core)->iterate());
  EXPECT_THAT((*core)->write(BlockTarget{}).error().message, HasSubstr("core 7, block (m 0, n 0): dx is null"));
  BlockTarget small{view(TensorId::kDx)};
  small.view.bytes = 64;
  EXPECT_THAT((*core)->write(small).error().message, HasSubstr("the block is outside the tensor"));
  small.add = true;
  EXPECT_THAT((*core)->write(small).error().message, HasSubstr("blocks are added to f32 only"));
}

TEST_F(CubeCoreTest, TilingsThatDoNotFitAreRefusedWithBothByteCountsAndTheField) {
  TilingPlan plan = job(Pass::kDx).plan;
  const auto refused = [&](const TilingPlan& broken) {
    const auto made = makeCubeJob(p_, broken, machine_, CubeKernels::kAscendC);
    return made.ok() ? std::string() : made.error().message;
  };
  TilingPlan broken = plan;
  broken.cube().tile.base = {512, 256, 128};
  EXPECT_THAT(refused(broken),
              AllOf(HasSubstr("L0A needs 524288 bytes, ascend910b2 has 65536; lower base_m, base_k or buffers_l0a"),
                    HasSubstr("L0C needs 262144 bytes, ascend910b2 has 131072")));
  broken = plan;
  broken.cube().tile.base.k = 24;
  EXPECT_THAT(refused(broken), HasSubstr("base_k = 24 must be a multiple of 16"));
  Machine small = machine_;
  small.buffers.l1Bytes = 4096;
  machine_ = small;
  EXPECT_THAT(refused(plan), AllOf(HasSubstr("L1 (A "), HasSubstr("has 4096; lower step_kb")));
  // The same through the public door.
  EmulationRequest request{p_, Pass::kDx, small, plan};
  EXPECT_THAT(Emulation::create(request).error().message, HasSubstr("has 4096"));
}

TEST_F(CubeCoreTest, BiasIsSummedByTheVectorUnit) {
  const auto emulation = Emulation::create({p_, Pass::kDb, machine_, {}});
  ASSERT_TRUE(emulation.ok());
  std::vector<std::uint16_t> db(40);
  Tensors tensors;
  tensors.dy = memory_[0].data();
  tensors.db = db.data();
  const auto report = (*emulation)->run(tensors);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->total.bytes[static_cast<std::size_t>(Path::kGmToUb)], 120 * 40 * 2);
  for (std::size_t c = 0; c < 40; ++c) {
    float sum = 0;
    for (std::size_t i = 0; i < 120; ++i) sum += plain_[0][c * 120 + i];
    EXPECT_EQ(f16ToFloat(db[c]), roundedTo(DType::kF16, sum));
  }
  Machine none = machine_;
  none.buffers.ubBytes = 64;
  EXPECT_THAT(Emulation::create({p_, Pass::kDb, none, {}}).error().message, HasSubstr("ub_bytes = 64 must be"));
}

}  // namespace
}  // namespace cubejit
