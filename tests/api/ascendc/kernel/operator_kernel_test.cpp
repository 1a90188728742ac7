// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the names around the documented classes: that a kernel as operator projects write it, with registered
// tiling, kernel type, pipe, initialised output and a barrier, compiles and runs by the names of CPU debugging.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "cubejit/cubejit.h"
#include "lib/conv_backprop/conv3d_bp_input_api.h"
#include "register/tilingdata_base.h"
#include "tests/support/ascend_tasks.h"
#include "tests/support/ascend_tensors.h"
#include "tikicpulib.h"
#include "tiling/conv_backprop/conv3d_bp_input_tiling.h"

namespace optiling {
REGISTER_TILING_DATA_CLASS(Conv3DBackpropInputCustom, Conv3DBackpropInputTilingData)
}

class KernelConv3DBackpropInput {
 public:
  __aicore__ inline void Init(GM_ADDR weight, GM_ADDR gradOutput, GM_ADDR gradInput,
                              const AscendC::tiling::Conv3DBackpropInputTilingData* data, AscendC::TPipe* pipeIn) {
    tilingData = data;
    pipe = pipeIn;
    weightGm.SetGlobalBuffer((__gm__ half*)weight);
    gradOutputGm.SetGlobalBuffer((__gm__ half*)gradOutput);
    gradInputGm.SetGlobalBuffer((__gm__ half*)gradInput);
    const auto& t = tilingData->conv3DDxTiling;
    if (AscendC::GetBlockIdx() == 0) AscendC::InitOutput<half>(gradInputGm, t.batch * t.cin * t.di * t.hi * t.wi, 0);
    AscendC::SyncAll<false>();
  }
  __aicore__ inline void Process() {
    using ConvCommonApi::ConvFormat;
    using ConvCommonApi::TPosition;
    cubejit::InputTasks tasks(tilingData->conv3DDxTiling, ConvFormat::NCDHW);
    for (cubejit::InputTask task; tasks.next(task);) {
      ConvBackpropApi::Conv3DBackpropInput<ConvBackpropApi::ConvType<TPosition::GM, ConvFormat::FRACTAL_Z_3D, half>,
                                           ConvBackpropApi::ConvType<TPosition::GM, ConvFormat::ND, int32_t>,
                                           ConvBackpropApi::ConvType<TPosition::GM, ConvFormat::NDC1HWC0, half>,
                                           ConvBackpropApi::ConvType<TPosition::GM, ConvFormat::NCDHW, half>>
          gradInput;
      gradInput.Init(&(tilingData->conv3DDxTiling));
      gradInput.SetSingleShape(task.m, task.k, task.n);
      gradInput.SetStartPosition(task.din, task.ho);
      gradInput.SetGradOutput(gradOutputGm[task.offsetA]);
      gradInput.SetWeight(weightGm[task.offsetB]);
      while (gradInput.Iterate()) gradInput.GetTensorC(gradInputGm[task.offsetC]);
      gradInput.End();
    }
    pipe->Destroy();
  }

 private:
  const AscendC::tiling::Conv3DBackpropInputTilingData* tilingData = nullptr;
  AscendC::TPipe* pipe = nullptr;
  [[maybe_unused]] AscendC::TQue<AscendC::TPosition::VECIN, 2> unused;
  AscendC::GlobalTensor<half> weightGm, gradOutputGm, gradInputGm;
};

extern "C" __global__ __aicore__ void conv3d_backprop_input_custom(GM_ADDR weight, GM_ADDR gradOutput,
                                                                   GM_ADDR gradInput, GM_ADDR workspace,
                                                                   GM_ADDR tiling) {
  static_cast<void>(workspace);
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  REGISTER_TILING_DEFAULT(AscendC::tiling::Conv3DBackpropInputTilingData);
  GET_TILING_DATA(tilingData, tiling);
  AscendC::TPipe pipe;
  KernelConv3DBackpropInput op;
  op.Init(weight, gradOutput, gradInput, &tilingData, &pipe);
  if ASCEND_IS_AIC {
    op.Process();
  }
}

namespace {

using cubejit::AscendCase;
using cubejit::Problem;
using cubejit::TensorId;
using cubejit::ascendc::GlobalMemory;
using cubejit::ascendc::launch;
using cubejit::ascendc::LaunchOptions;
using testing::AllOf;
using testing::HasSubstr;

template <class T>
uint8_t* onDevice(const std::vector<T>& values) {
  auto* const memory = static_cast<uint8_t*>(AscendC::GmAlloc(values.size() * sizeof(T)));
  std::memcpy(memory, values.data(), values.size() * sizeof(T));
  return memory;
}

TEST(OperatorKernel, RunsByTheNamesOfCpuDebugging) {
  Problem p;
  p.batch = 2, p.cin = 20, p.cout = 18;
  p.in = {4, 9, 10}, p.kernel = {2, 1, 3}, p.stride = {2, 3, 2};  // rows that receive nothing
  p.padBefore = p.padAfter = {0, 0, 1};
  const AscendCase c(p);
  ConvBackpropApi::Conv3DBpInputTiling tiling(*platform_ascendc::PlatformAscendCManager::GetInstance());
  tiling.SetWeightShape(c.problem.cout, c.problem.cin, 2, 1, 3);
  tiling.SetInputShape(2, 20, 4, 9, 10);
  tiling.SetGradOutputShape(2, 18, c.problem.out.d, c.problem.out.h, c.problem.out.w);
  tiling.SetPadding(0, 0, 0, 0, 1, 1);
  tiling.SetStride(2, 3, 2);
  optiling::Conv3DBackpropInputTilingData data;
  ASSERT_EQ(tiling.GetTiling(data), 0) << cubejit_last_error();
  auto* const tilingGm = static_cast<uint8_t*>(AscendC::GmAlloc(data.GetDataSize()));
  data.SaveToBuffer(tilingGm, data.GetDataSize());

  const Problem result = c.with(TensorId::kDx, cubejit::DType::kF16, cubejit::Layout::kNcdhw, 16);
  uint8_t* const dy = onDevice(c.pack<half>(TensorId::kDy, cubejit::Layout::kNdc1hwc0, c.dy));
  uint8_t* const w = onDevice(c.pack<half>(TensorId::kW, cubejit::Layout::kFractalZ3d, c.w));
  uint8_t* const dx = onDevice(
      std::vector<half>(static_cast<std::size_t>(cubejit::indexMap(result, TensorId::kDx).elements), half(-77.0F)));
  uint8_t* const workspace = nullptr;
  AscendC::SetKernelMode(KernelMode::MIX_MODE);
  ICPU_RUN_KF(conv3d_backprop_input_custom, 7, w, dy, dx, workspace, tilingGm);
  EXPECT_STREQ(cubejit_last_error(), "");
  const auto reference = c.reference();
  std::size_t wrong = 0;
  cubejit::forEachElement(result, TensorId::kDx, [&](std::size_t plain, std::size_t at) {
    const half right(static_cast<float>(reference.dx[plain]));
    if (reinterpret_cast<const half*>(dx)[at].bits() != right.bits()) ++wrong;
  });
  EXPECT_EQ(wrong, 0U);

  // What the kernel is told is bounded by what GmAlloc was asked for.
  auto* const tooSmall = static_cast<uint8_t*>(AscendC::GmAlloc(data.GetDataSize() - 1));
  std::memcpy(tooSmall, tilingGm, data.GetDataSize() - 1);
  ICPU_RUN_KF(conv3d_backprop_input_custom, 1, w, dy, dx, workspace, tooSmall);
  EXPECT_THAT(cubejit_last_error(), HasSubstr("core 0, GET_TILING_DATA: 280 bytes from byte 0 of memory of 279 bytes"));
  ICPU_RUN_KF(conv3d_backprop_input_custom, 1, w, dy, dx, workspace, tilingGm + 1);
  EXPECT_THAT(cubejit_last_error(),
              HasSubstr("ICPU_RUN_KF(conv3d_backprop_input_custom): argument 5 is no memory of GmAlloc"));
  ICPU_RUN_KF(conv3d_backprop_input_custom, 0, w, dy, dx, workspace, tilingGm);
  EXPECT_THAT(cubejit_last_error(), HasSubstr("blkdim = 0 must be at least 1"));
  for (uint8_t* memory : {dy, w, dx, workspace, tilingGm, tooSmall}) AscendC::GmFree(memory);
  cubejit::ascendc::setLastError("");
  AscendC::GmFree(dy);  // once is enough
  EXPECT_THAT(cubejit_last_error(), HasSubstr("GmFree: GmAlloc did not give this memory"));
  EXPECT_EQ(AscendC::GmAlloc(SIZE_MAX), nullptr);
}

TEST(OperatorKernel, StructsOfTilingsCanBeNamedWhereTheyAreRead) {
  struct Tiling {
    uint32_t blocks;
    uint64_t elements;
  };
  Tiling given{3, 17};
  GET_TILING_DATA_WITH_STRUCT(Tiling, copy, &given);
  GET_TILING_DATA_PTR_WITH_STRUCT(Tiling, pointer, &given);
  given.elements = 18;
  EXPECT_EQ(copy.elements, 17U);
  EXPECT_EQ(pointer->blocks, 3U);
}

TEST(OperatorKernel, VectorCoresCodeIsLeftOutAndNoted) {
  int cube = 0, vector = 0;
  LaunchOptions options;
  options.blocks = 1;
  const auto report = launch(options, [&] {
    KERNEL_TASK_TYPE(1, KERNEL_TYPE_AIC_ONLY);
    if ASCEND_IS_AIC {
      ++cube;
    }
    if (ASCEND_IS_AIV) ++vector;
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(cube, 1);
  EXPECT_EQ(vector, 0);
  EXPECT_THAT(report->notes, testing::ElementsAre(HasSubstr("ASCEND_IS_AIV")));
}

TEST(Fill, IsBoundedByTheTensor) {
  std::vector<float> memory(10, 1.0F);
  const auto report = launch(
      LaunchOptions{},
      [](float* gm) {
        if (AscendC::GetBlockIdx() != 0) return;
        AscendC::GlobalTensor<float> all;
        all.SetGlobalBuffer(gm);
        AscendC::GlobalTensor<float> middle = all[4];
        AscendC::Fill(middle, 3, 5.0F);
        AscendC::InitGlobalMemory(middle, 7, 6.0F);
        AscendC::Fill(middle, UINT64_MAX, 6.0F);
      },
      cubejit::ascendc::globalMemory(memory));
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, testing::StartsWith("core 0, Fill: 28 bytes from byte 16 of memory of 40 bytes\n"
                                                          "core 0, Fill: 18446744073709551612 bytes from byte 16 of "));
  EXPECT_EQ(memory, (std::vector<float>{1, 1, 1, 1, 5, 5, 5, 1, 1, 1}));
}

// Each block writes, waits, and reads what another wrote, over and over.
TEST(SyncAll, WhatBlocksWroteBeforeIsSeenBehindIt) {
  constexpr int kRounds = 50;
  constexpr std::int64_t kBlocks = 24;
  std::vector<std::int64_t> written(kBlocks, -1);
  std::atomic<int> wrong{0};
  const auto report = launch(LaunchOptions{}, [&] {
    const std::int64_t block = AscendC::GetBlockIdx(), other = (block + 7) % kBlocks;
    for (std::int64_t round = 0; round < kRounds; ++round) {
      written[static_cast<std::size_t>(block)] = round;
      AscendC::SyncAll<false>();
      if (written[static_cast<std::size_t>(other)] != round) ++wrong;
      AscendC::SyncAll<false>();
    }
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(report->notes.empty());
}

TEST(SyncAll, SaysWhyBlocksCannotWait) {
  const auto told = [](const LaunchOptions& options, const std::function<void()>& kernel) {
    const auto report = launch(options, kernel);
    return report.ok() ? "" : report.error().message;
  };
  const auto once = [] { AscendC::SyncAll<false>(); };
  LaunchOptions options;
  options.hostThreads = 4;
  EXPECT_THAT(told(options, once), AllOf(HasSubstr("SyncAll: 4 of 24 cores run at once, so they cannot wait for each "
                                                   "other; set hostThreads to 0 or at least 24"),
                                         HasSubstr("core 3 and 20 more")));
  EXPECT_EQ(told(options, [] {}), "") << "a kernel that does not wait may take turns";
  options.hostThreads = 0;
  options.blocks = 25;
  EXPECT_THAT(told(options, once), HasSubstr("SyncAll: blocks = 25 must be at most 24, the cores of ascend910b2"));
  options.blocks = 5;
  EXPECT_EQ(told(options, once), "");
  EXPECT_THAT(told(options,
                   [] {
                     if (AscendC::GetBlockIdx() != 3) AscendC::SyncAll<false>();
                   }),
              AllOf(HasSubstr("core 0, core 1, core 2, core 4, SyncAll: core 3 ended with fewer calls"),
                    testing::Not(HasSubstr("\n"))));
  options.blocks = 1;
  options.hostThreads = 1;
  EXPECT_EQ(told(options, once), "") << "one block waits for no other";
  AscendC::SyncAll<false>();  // nor does one without a launcher
}

TEST(SyncAll, OfVectorCoresAloneIsNoted) {
  const auto report = launch(LaunchOptions{}, [] { AscendC::SyncAll(); });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(report->notes, testing::ElementsAre(HasSubstr("SyncAll<false>()")));
}

}  // namespace
