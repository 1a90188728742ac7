// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of Conv3DBackpropInput call by call: members and defaults, order of blocks, what is written where, and what
// is said of calls that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cubejit/cubejit.h"
#include "cubejit_ascendc/gradient_on_core.h"
#include "cubejit_ascendc/launch.h"
#include "tests/support/ascend_dx_kernel.h"

namespace cubejit {
namespace {

using ConvCommonApi::ConvFormat;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using HalfGradient = InputGradient<half>;

static_assert(std::is_same_v<InputGradient<bfloat16_t>::SrcT, bfloat16_t>);
static_assert(std::is_same_v<InputGradient<half, ConvFormat::NCDHW, float>::DstT, float>);
static_assert(std::is_same_v<HalfGradient::L0cT, float>);
static_assert(HalfGradient::conv3dConfig.loadB2Condition == ConvBackpropApi::B2Condition::BASEK_GE_HKWK &&
              !HalfGradient::conv3dConfig.enableKernelSplit);
static_assert(ConvBackpropApi::Conv3dConfig{}.loadB2Condition == ConvBackpropApi::B2Condition::BASEK_LT_HKWK);
static_assert(HalfGradient::Config::formatA == ConvFormat::FRACTAL_Z_3D &&
              HalfGradient::Config::formatB == ConvFormat::ND);
static_assert(std::is_same_v<ConvBackpropApi::GetDstType<int8_t>::Type, int32_t> &&
              std::is_same_v<ConvBackpropApi::GetDstType<bfloat16_t>::Type, float> &&
              std::is_same_v<ConvBackpropApi::GetDstType<int16_t>::Type, int16_t>);

// Runs `body` on one core; "" or what is wrong.
std::string wrongs(const std::function<void()>& body, std::vector<std::string>* notes = nullptr) {
  ascendc::LaunchOptions options;
  options.blocks = 1;
  const auto report = ascendc::launch(options, body);
  if (report.ok() && notes != nullptr) *notes = report->notes;
  return report.ok() ? "" : report.error().message;
}

TEST(InputGradient, BlocksComeInIteratesOrderWithTailsAndLieWhereTheyShould) {
  SmallInputGradient s;
  ASSERT_EQ(s.status, 0) << cubejit_last_error();
  const auto expected = s.tensors.reference();
  for (const std::uint32_t order : {1U, 0U}) {
    s.t().iterateOrder = order;
    s.t().baseM = 80;  // 128 pixels: 80 and 48
    std::fill(s.gradInput.begin(), s.gradInput.end(), half(-77.0F));
    std::vector<std::pair<std::int64_t, std::int64_t>> written;  // block m, n
    const std::string wrong = wrongs([&] {
      HalfGradient g;
      s.prepare(g);
      g.SetStartPosition(1, -1);
      std::vector<half> before = s.gradInput;
      while (g.Iterate()) {
        g.GetTensorC(s.output());
        std::int64_t first = -1, count = 0;
        for (std::size_t i = 0; i < before.size(); ++i) {
          if (before[i].bits() == s.gradInput[i].bits()) continue;
          first = first < 0 ? static_cast<std::int64_t>(i) : first;
          ++count;
        }
        const std::int64_t within = first - 2 * 16 * SmallInputGradient::kPixels;  // depth 1 lies behind depth 0
        ASSERT_GE(within, 0);
        const std::int64_t n = within / (16 * SmallInputGradient::kPixels),
                           m = within % (16 * SmallInputGradient::kPixels) / 16;
        EXPECT_EQ(count, (m == 0 ? 80 : 48) * 16);
        written.emplace_back(m / 80, n);
        before = s.gradInput;
      }
      g.End();
    });
    EXPECT_EQ(wrong, "");
    const std::vector<std::pair<std::int64_t, std::int64_t>> mFast{{0, 0}, {1, 0}, {0, 1}, {1, 1}},
        nFast{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    EXPECT_EQ(written, order == 1 ? mFast : nFast);
    const Problem result = s.tensors.with(TensorId::kDx, DType::kF16, Layout::kNdc1hwc0, 16);
    forEachElement(result, TensorId::kDx, [&](std::size_t plain, std::size_t at) {
      const bool second = at >= static_cast<std::size_t>(2 * 16 * SmallInputGradient::kPixels);
      ASSERT_EQ(static_cast<float>(s.gradInput[at]), second ? static_cast<float>(expected.dx[plain]) : -77.0F) << at;
    });
  }
}

TEST(InputGradient, AtomicAddsInSixteenBitsAndFloatResultsAreNotRounded) {
  SmallInputGradient s;
  const auto expected = s.tensors.reference();
  std::vector<float> wide(s.gradInput.size(), -77.0F);
  std::fill(s.gradInput.begin(), s.gradInput.end(), half(0.5F));
  const std::string wrong = wrongs([&] {
    HalfGradient adds;
    s.prepare(adds);
    while (adds.Iterate()) adds.GetTensorC(s.output(), 1);
    adds.End();
    InputGradient<half, ConvFormat::NCDHW, float> plain;
    AscendC::GlobalTensor<float> output;
    output.SetGlobalBuffer(wide.data(), wide.size());
    s.prepare(plain);
    while (plain.Iterate<false>(true)) plain.GetTensorC<false>(output);
    plain.End();
  });
  EXPECT_EQ(wrong, "");
  for (std::int64_t c = 0; c < 32; ++c)
    for (std::int64_t i = 0; i < SmallInputGradient::kPixels; ++i) {
      const auto at = static_cast<std::size_t>(c * 2 * SmallInputGradient::kPixels + i);
      const auto blocked = static_cast<std::size_t>((c / 16 * SmallInputGradient::kPixels + i) * 16 + c % 16);
      ASSERT_EQ(wide[at], static_cast<float>(expected.dx[at])) << c << " " << i;
      ASSERT_EQ(static_cast<float>(s.gradInput[blocked]), static_cast<float>(expected.dx[at]) + 0.5F) << c << " " << i;
    }
}

// With enSequentialWrite the block stays in L0C, unwritten; the next GetTensorC writes it.
TEST(InputGradient, SequentialWritesKeepTheBlock) {
  SmallInputGradient s;
  const std::string wrong = wrongs([&] {
    HalfGradient g;
    s.prepare(g);
    EXPECT_TRUE(g.Iterate());
    g.GetTensorC(s.output(), 0, true);
    EXPECT_EQ(static_cast<float>(s.gradInput[0]), -77.0F);
    g.GetTensorC(s.output());
    EXPECT_NE(static_cast<float>(s.gradInput[0]), -77.0F);
    g.End();
  });
  EXPECT_EQ(wrong, "");
}

TEST(InputGradient, AnotherSingleShapeBeginsByIsFirstIter) {
  SmallInputGradient s;
  int blocks = 0;
  std::vector<std::string> notes;
  const auto run = [&](bool says) {
    return wrongs(
        [&] {
          HalfGradient g;
          s.prepare(g);
          for (std::uint32_t depth = 0; depth < 2; ++depth) {
            if (says) g.ctx.isFirstIter_ = true;
            g.SetStartPosition(depth, -1);
            g.SetSingleShape(SmallInputGradient::kPixels, s.k(), 32);
            EXPECT_TRUE(g.ctx.isFirstIter_);
            for (; g.Iterate(); ++blocks) {
              EXPECT_FALSE(g.ctx.isFirstIter_);
              g.GetTensorC(s.output());
            }
          }
          g.End();
        },
        &notes);
  };
  EXPECT_EQ(run(true), "");
  EXPECT_EQ(blocks, 8);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(run(false), "");  // right here; what the chip would do is noted
  EXPECT_EQ(blocks, 16);
  EXPECT_THAT(notes, testing::ElementsAre(HasSubstr("without ctx.isFirstIter_ = true")));
}

TEST(InputGradient, CallsOutOfOrderAreReportedAndDoNothing) {
  SmallInputGradient s;
  const auto untouched = [&] {
    return std::all_of(s.gradInput.begin(), s.gradInput.end(), [](half h) { return static_cast<float>(h) == -77.0F; });
  };
  EXPECT_EQ(wrongs([&] {
              HalfGradient g;
              s.set(g);
              EXPECT_FALSE(g.Iterate());
              g.GetTensorC(s.output());
            }),
            "core 0, Conv3DBackpropInput::SetWeight: SetWeight before Init: Init comes first\n"
            "core 0, Conv3DBackpropInput::SetGradOutput: SetGradOutput before Init: Init comes first\n"
            "core 0, Conv3DBackpropInput::SetSingleShape: SetSingleShape before Init: Init comes first\n"
            "core 0, Conv3DBackpropInput::SetStartPosition: SetStartPosition before Init: Init comes first\n"
            "core 0, Conv3DBackpropInput::Iterate: Iterate before Init: Init comes first\n"
            "core 0, Conv3DBackpropInput::GetTensorC: GetTensorC before Init: Init comes first");
  EXPECT_TRUE(untouched());
  EXPECT_THAT(wrongs([&] {
                HalfGradient g;
                s.prepare(g);
              }),
              HasSubstr("End was never called"));
  EXPECT_THAT(wrongs([&] {
                HalfGradient g;
                g.Init(&s.t());
                EXPECT_FALSE(g.Iterate());
                g.End();
                g.End();
                g.Init(&s.t());
              }),
              AllOf(HasSubstr("Iterate before SetWeight, SetGradOutput, SetSingleShape, SetStartPosition"),
                    HasSubstr("End after End"), HasSubstr("Init after End")));
  int blocks = 0;
  EXPECT_THAT(wrongs([&] {
                HalfGradient g;
                s.prepare(g);
                while (g.Iterate()) ++blocks;  // without GetTensorC: ends by itself
                g.End();
              }),
              HasSubstr("Iterate while a block waits in L0C"));
  EXPECT_EQ(blocks, 1);
  EXPECT_THAT(wrongs([&] {
                HalfGradient g;
                s.prepare(g);
                while (g.Iterate()) {
                  g.GetTensorC(s.output());
                  if (blocks++ == 1) g.GetTensorC(s.output());
                  if (blocks == 4) g.SetSingleShape(1, 1, 1);
                }
                EXPECT_FALSE(g.Iterate());
                g.End();
              }),
              AllOf(HasSubstr("block m 0 n 0 of single shape 1, Conv3DBackpropInput::GetTensorC: GetTensorC without"),
                    HasSubstr("SetSingleShape between Iterates"), HasSubstr("Iterate after it returned false")));
  EXPECT_EQ(blocks, 5);
}

TEST(InputGradient, WhatReachesOutsideIsReportedAndDoesNothing) {
  SmallInputGradient s;
  const auto single = [&](const std::function<void(HalfGradient&)>& change) {
    return wrongs([&] {
      HalfGradient g;
      s.prepare(g);
      change(g);
      while (g.Iterate()) g.GetTensorC(s.output());
      g.End();
    });
  };
  EXPECT_EQ(
      single([&](HalfGradient& g) { g.SetSingleShape(44, s.k() + 1, 33); }),
      "core 0, single shape 1, Conv3DBackpropInput::Iterate: singleShapeM = 44 must be whole rows, a multiple of "
      "wi = 8\n"
      "core 0, single shape 1, Conv3DBackpropInput::Iterate: singleShapeK = 145 must be 1 to cout1G = 1 times dk x "
      "hk x wk x c0 = 144\n"
      "core 0, single shape 1, Conv3DBackpropInput::Iterate: singleShapeN = 33 must be 1 to cin1G x c0 = 32");
  EXPECT_THAT(single([](HalfGradient& g) { g.SetStartPosition(2, 0); }),
              AllOf(HasSubstr("curDinStartIdx = 2 must be less than di = 2"),
                    HasSubstr("curHoStartIdx = 0 + backpropPadUp = 1 begins at row 1, and singleShapeM / wi = 16 rows "
                              "must end by row hi = 16")));
  EXPECT_THAT(single([](HalfGradient& g) { g.SetStartPosition(0, -2); }), HasSubstr("begins at row -1"));
  EXPECT_THAT(single([&](HalfGradient& g) {
                AscendC::GlobalTensor<half> w;
                w.SetGlobalBuffer(s.weight.data(), s.weight.size());
                g.SetWeight(w[16]);
              }),
              AllOf(HasSubstr("weight: elements 0 to 4607 from where it begins are read, its memory has 4592"),
                    Not(HasSubstr("gradOutput:"))));
  EXPECT_THAT(single([&](HalfGradient& g) {
                AscendC::GlobalTensor<half> dy;
                dy.SetGlobalBuffer(s.gradOutput.data(), 100);
                g.SetGradOutput(dy);
              }),
              HasSubstr("gradOutput: elements 0 to 2047"));
  EXPECT_TRUE(
      std::all_of(s.gradInput.begin(), s.gradInput.end(), [](half h) { return static_cast<float>(h) == -77.0F; }));
  s.gradInput.resize(2048 + 1500);  // the second channel block's second half is missing
  s.gradInput.shrink_to_fit();
  const std::string wrong = single([](HalfGradient&) {});
  EXPECT_THAT(wrong,
              AllOf(HasSubstr("core 0, block m 1 n 1 of single shape 1, Conv3DBackpropInput::GetTensorC: output: "
                              "elements 3072 to 4095 from where it begins are written, its memory has 3548"),
                    Not(HasSubstr("block m 0 n 1"))));
  EXPECT_THAT(wrongs([&] {
                HalfGradient g;
                s.prepare(g);
                EXPECT_TRUE(g.Iterate());
                g.GetTensorC(AscendC::GlobalTensor<half>{});
                g.SetWeight(AscendC::GlobalTensor<half>{});
                g.End();
              }),
              AllOf(HasSubstr("output has no memory"), HasSubstr("SetWeight between Iterates")));
}

TEST(InputGradient, TilingsAreCheckedBeforeAnythingRuns) {
  SmallInputGradient s;
  const auto init = [&](const std::function<void()>& change) {
    const auto kept = s.t();
    change();
    const std::string wrong = wrongs([&] {
      HalfGradient g;
      s.prepare(g);
      EXPECT_FALSE(g.Iterate());
      g.GetTensorC(s.output());  // out of order, but what is wrong has been said
      g.End();
    });
    s.t() = kept;
    return wrong;
  };
  EXPECT_THAT(init([&] { s.t().baseM = 16 * 240, s.t().baseK = 64; }),
              AllOf(HasSubstr("core 0, Conv3DBackpropInput::Init: "), HasSubstr("L0A needs"), HasSubstr("L0C needs"),
                    HasSubstr("lower baseM")));
  EXPECT_THAT(init([&] { s.t().backpropPadUp = 5; }), HasSubstr("backpropPadUp = 5 must be 1"));
  EXPECT_THAT(init([&] { s.t().hf32Flag = 1; }), HasSubstr("hf32Flag = 1 must be 0 for f16"));
  EXPECT_THAT(wrongs([&] {
                HalfGradient g;
                g.Init(nullptr);
                g.End();
              }),
              HasSubstr("Init: the tiling is null"));
  EXPECT_THAT(wrongs([&] {
                InputGradient<float> g;  // the tiling is one for 16 bits
                g.Init(&s.t());
                g.End();
              }),
              HasSubstr("c0 = 16 must be 8 for f32"));
}

// Without a launcher a thread is block 0 of 1, and faults are in cubejit_last_error().
TEST(InputGradient, RunsWithoutALauncher) {
  SmallInputGradient s;
  EXPECT_EQ(AscendC::GetBlockIdx(), 0);
  EXPECT_EQ(AscendC::GetBlockNum(), 1);
  HalfGradient g;
  s.prepare(g);
  int blocks = 0;
  for (; g.Iterate(); ++blocks) g.GetTensorC(s.output());
  g.End();
  EXPECT_EQ(blocks, 4);
  g.End();
  EXPECT_THAT(cubejit_last_error(), HasSubstr("core 0, Conv3DBackpropInput::End: End after End"));
}

}  // namespace
}  // namespace cubejit
