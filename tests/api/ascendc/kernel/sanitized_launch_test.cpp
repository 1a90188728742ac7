// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are the mistakes of kernels that compute the right thing here, and would not on a chip, found by kind and place; are kernels
// without them left alone; is a strict launch wrong whenever something was noted?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cubejit_ascendc/debug_run.h"
#include "cubejit_ascendc/fill.h"
#include "cubejit_ascendc/launch.h"
#include "kernel_operator.h"
#include "tests/support/ascend_dx_kernel.h"

namespace cubejit::ascendc {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// A launch over memory that nobody wrote, but for the operands.
class SanitizedLaunch : public ::testing::Test {
 protected:
  SanitizedLaunch() : result_(s_.gradInput.size() * 2) { forget(result_); }

  static void forget(std::vector<float>& v) { std::memset(v.data(), 0xff, v.size() * sizeof(float)); }
  using Pass = InputGradient<half, ConvCommonApi::ConvFormat::NDC1HWC0, float>;

  Result<LaunchReport> run(std::int64_t blocks, const std::function<void(float*)>& kernel, bool strict = false) {
    LaunchOptions options;
    options.blocks = blocks;
    options.hostThreads = waits_ ? 0 : 1;
    options.sanitize = true;
    options.strict = strict;
    return launch(
        options, [&](half*, half*, float* dx) { kernel(dx); }, globalMemory(s_.weight), globalMemory(s_.gradOutput),
        GlobalMemory{result_.data(), elements() * sizeof(float)});
  }
  std::vector<std::string> findings(std::int64_t blocks, const std::function<void(float*)>& kernel) {
    const auto report = run(blocks, kernel);
    EXPECT_TRUE(report.ok()) << report.error().message;
    std::vector<std::string> all;
    for (const Finding& f : report.ok() ? report->findings : std::vector<Finding>{}) all.push_back(describe(f));
    return all;
  }
  std::size_t elements() const { return s_.gradInput.size(); }
  // All blocks of a depth.
  void compute(float* dx, std::uint32_t depth, std::uint8_t atomic = 0, int times = 1) {
    Pass g;
    g.Init(&s_.t());
    AscendC::GlobalTensor<half> w, dy;
    w.SetGlobalBuffer(s_.weight.data(), s_.weight.size());
    dy.SetGlobalBuffer(s_.gradOutput.data(), s_.gradOutput.size());
    for (int i = 0; i < times; ++i) {
      g.ctx.isFirstIter_ = true;
      g.SetWeight(w);
      g.SetGradOutput(dy);
      g.SetSingleShape(SmallInputGradient::kPixels, s_.k(), 32);
      g.SetStartPosition(depth, -1);
      AscendC::GlobalTensor<float> out;
      out.SetGlobalBuffer(dx, elements());
      while (g.Iterate()) g.GetTensorC(out, atomic);
    }
    g.End();
  }
  static std::uint32_t block() { return static_cast<std::uint32_t>(AscendC::GetBlockIdx()); }

  SmallInputGradient s_;
  std::vector<float> result_;
  bool waits_ = false;  ///< cores wait for each other, so all of them run at once
};

TEST_F(SanitizedLaunch, RightKernelsHaveNoFindings) {
  EXPECT_THAT(findings(2, [&](float* dx) { compute(dx, block()); }), IsEmpty());
  forget(result_);
  EXPECT_THAT(findings(1, [&](float* dx) { compute(dx, 0), compute(dx, 1); }), IsEmpty());
  forget(result_);
  waits_ = true;
  EXPECT_THAT(findings(2,
                       [&](float* dx) {
                         AscendC::GlobalTensor<float> all;
                         all.SetGlobalBuffer(dx, elements());
                         if (block() == 0) AscendC::InitOutput(all, static_cast<std::uint32_t>(elements()), 0.0F);
                         AscendC::SyncAll<false>();
                         compute(dx, 0, 1);
                         compute(dx, 1, 1);
                       }),
              IsEmpty());
}

TEST_F(SanitizedLaunch, MistakesAreFoundByKindAndPlace) {
  const auto wrong = [&](std::int64_t blocks, const std::function<void(float*)>& kernel) {
    forget(result_);
    return findings(blocks, kernel);
  };
  EXPECT_THAT(
      wrong(2, [&](float* dx) { compute(dx, 0); }),
      Contains(AllOf(
          HasSubstr("race: core 1, fixpipe block m 0 n 0 of single shape 1, Conv3DBackpropInput::GetTensorC"),
          HasSubstr("blocks 0 and 1 write the same results"), HasSubstr("argument 2 of the launch bytes [0, 4)"))))
      << "two blocks, one result";
  EXPECT_THAT(
      wrong(1, [&](float* dx) { compute(dx, 0, 0, 2), compute(dx, 1); }),
      Contains(AllOf(HasSubstr("overwrite: core 0"), HasSubstr("single shape 2"), HasSubstr("that it wrote before"))))
      << "a part of a sum, without atomic addition";
  EXPECT_THAT(wrong(2, [&](float* dx) { compute(dx, block(), 1); }),
              Contains(AllOf(HasSubstr("init: core 0, fixpipe"), HasSubstr("adds to memory that nobody wrote"))))
      << "sums that nobody began";
  EXPECT_THAT(wrong(1, [&](float* dx) { compute(dx, 0); }),
              Contains(AllOf(HasSubstr("init: "), HasSubstr("4096 elements of an output are as GmAlloc gave them"),
                             HasSubstr("bytes [16384, 16388)"))))
      << "a depth that no block computes";
  EXPECT_THAT(wrong(2,
                    [&](float* dx) {
                      AscendC::GlobalTensor<float> all;
                      all.SetGlobalBuffer(dx, elements());
                      if (block() == 0) AscendC::InitOutput(all, static_cast<std::uint32_t>(elements()), 0.0F);
                      compute(dx, block(), 1);
                    }),
              Contains(AllOf(HasSubstr("race: core 1, fixpipe"), HasSubstr("SyncAll()"))))
      << "zeroed, and nobody waited";
  std::vector<half> kept = s_.gradOutput;
  std::memset(static_cast<void*>(s_.gradOutput.data() + 100), 0xff, sizeof(half));
  EXPECT_THAT(wrong(2, [&](float* dx) { compute(dx, block()); }),
              Contains(AllOf(HasSubstr("init: core 0, gm_to_l1 single shape 1"),
                             HasSubstr("nobody wrote, of gradOutput"), HasSubstr("bytes [200, 202)"))))
      << "an operand that nobody wrote";
  s_.gradOutput = kept;
}

// One block writes what the other reads: zero, and then a gradient of it.
TEST_F(SanitizedLaunch, ReadersWaitForWriters) {
  const auto kernel = [&](bool waits) {
    return findings(2, [&, waits](float* dx) {
      AscendC::GlobalTensor<half> dy;
      dy.SetGlobalBuffer(s_.gradOutput.data(), s_.gradOutput.size());
      if (block() == 0) AscendC::Fill(dy, s_.gradOutput.size(), half(1.0F));
      if (waits) AscendC::SyncAll<false>();
      compute(dx, block());
    });
  };
  waits_ = true;
  EXPECT_THAT(kernel(true), IsEmpty());
  waits_ = false;
  forget(result_);
  EXPECT_THAT(kernel(false),
              Contains(AllOf(HasSubstr("race: core 1, gm_to_l1"), HasSubstr("block 1 reads what block 0 writes"))));
}

TEST_F(SanitizedLaunch, StrictLaunchesFailWhereSomethingWasFound) {
  EXPECT_TRUE(run(2, [&](float* dx) { compute(dx, block()); }, true).ok());
  const auto twice = run(2, [&](float* dx) { compute(dx, 0); }, true);
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().message, HasSubstr("race: core 1"));
  // A note alone is enough, without the sanitiser as well.
  LaunchOptions options;
  options.blocks = 1;
  options.strict = true;
  const auto noted = [&] {
    return launch(options, [&] {
      InputGradient<half> g;
      s_.prepare(g);
      while (g.Iterate()) g.GetTensorC(s_.output());
      s_.set(g);  // without ctx.isFirstIter_ = true
      while (g.Iterate()) g.GetTensorC(s_.output(), 1);
      g.End();
    });
  };
  const auto strict = noted();
  ASSERT_FALSE(strict.ok());
  EXPECT_THAT(strict.error().message,
              HasSubstr("note: SetSingleShape began another single shape without ctx.isFirstIter_"));
  options.strict = false;
  EXPECT_TRUE(noted().ok());
}

TEST(GmAlloc, GivesMemoryThatIsNoNumber) {
  auto* const memory = static_cast<float*>(gmAlloc(64));
  ASSERT_NE(memory, nullptr);
  for (int i = 0; i < 16; ++i) EXPECT_NE(memory[i], memory[i]);
  EXPECT_TRUE(gmFree(memory));
}

}  // namespace
}  // namespace cubejit::ascendc
