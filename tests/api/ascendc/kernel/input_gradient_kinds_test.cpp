// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of input gradients beyond the documented pair of types: float and HF32, sums cut along K and added in
// memory, groups by a tiling filled by hand, other chips, shapes of known networks made small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cubejit/cubejit.h"
#include "tests/support/ascend_dx_kernel.h"
#include "tests/support/layers.h"

namespace cubejit {
namespace {

using ConvCommonApi::ConvFormat;
using testing::HasSubstr;
using Tiling = AscendC::tiling::TConv3DBackpropInputTiling;

struct Way {
  std::string soc = "ascend910b2";
  bool hf32 = false;
  std::int64_t kParts = 1;  ///< K in parts, added in memory
  void (*change)(Tiling&) = nullptr;
};

template <class T>
ConvCommonApi::ConvDtype dtypeOf() {
  return std::is_same_v<T, half>         ? ConvCommonApi::ConvDtype::FLOAT16
         : std::is_same_v<T, bfloat16_t> ? ConvCommonApi::ConvDtype::BF16
                                         : ConvCommonApi::ConvDtype::FLOAT32;
}

// Returns the launch's notes.
template <class T, ConvFormat Format, class Result = T>
std::vector<std::string> expectRight(const AscendCase& c, const Way& run = {}) {
  const Problem& p = c.problem;
  auto machine = machineByName(run.soc);
  EXPECT_TRUE(machine.ok());
  fe::PlatFormInfos infos(*machine);
  const platform_ascendc::PlatformAscendC platform(&infos);
  ConvBackpropApi::Conv3DBpInputTiling tiling(platform);
  tiling.SetWeightType(ConvCommonApi::TPosition::GM, ConvFormat::FRACTAL_Z_3D, dtypeOf<T>());
  tiling.SetInputType(ConvCommonApi::TPosition::GM, Format, dtypeOf<T>());
  tiling.SetGradOutputType(ConvCommonApi::TPosition::GM, ConvFormat::NDC1HWC0, dtypeOf<T>());
  tiling.SetHF32(run.hf32);
  tiling.SetWeightShape(p.cout, p.cin, p.kernel.d, p.kernel.h, p.kernel.w);
  tiling.SetInputShape(p.batch, p.cin, p.in.d, p.in.h, p.in.w);
  tiling.SetGradOutputShape(p.batch, p.cout, p.out.d, p.out.h, p.out.w);
  tiling.SetPadding(p.padBefore.d, p.padAfter.d, p.padBefore.h, p.padAfter.h, p.padBefore.w, p.padAfter.w);
  tiling.SetStride(p.stride.d, p.stride.h, p.stride.w);
  AscendC::tiling::Conv3DBackpropInputTilingData data;
  if (tiling.GetTiling(data) != 0) return ADD_FAILURE() << cubejit_last_error(), std::vector<std::string>{};
  if (run.change != nullptr) run.change(data.conv3DDxTiling);

  auto dy = c.pack<T>(TensorId::kDy, Layout::kNdc1hwc0, c.dy), w = c.pack<T>(TensorId::kW, Layout::kFractalZ3d, c.w);
  const Layout layout = Format == ConvFormat::NCDHW ? Layout::kNcdhw : Layout::kNdc1hwc0;
  const Problem result = c.with(TensorId::kDx, ascendc::kDTypeOf<Result>, layout, data.conv3DDxTiling.c0);
  std::vector<Result> dx(static_cast<std::size_t>(indexMap(result, TensorId::kDx).elements), Result(0.0F));
  ascendc::LaunchOptions options;
  options.soc = run.soc;
  const auto report =
      ascendc::launch(options, inputKernel<T, Format, Result>, ascendc::globalMemory(w), ascendc::globalMemory(dy),
                      ascendc::globalMemory(dx), &data.conv3DDxTiling, &data.conv3DDxTiling, run.kParts);
  if (!report.ok()) return ADD_FAILURE() << report.error().message, std::vector<std::string>{};
  const auto reference = c.reference();
  std::size_t wrong = 0;
  forEachElement(result, TensorId::kDx, [&](std::size_t plain, std::size_t at) {
    const auto right = static_cast<float>(Result(static_cast<float>(reference.dx[plain])));
    if (static_cast<float>(dx[at]) != right && wrong++ < 3)
      ADD_FAILURE() << "element " << plain << ": " << static_cast<float>(dx[at]) << ", must be " << right;
  });
  EXPECT_EQ(wrong, 0U);
  return report->notes;
}

const AscendCase& odd() {
  static const AscendCase c(problemOf(2, 20, 24, {2, 7, 6}, {2, 3, 3}, {1, 1, 1}, {1, 2, 1}));
  return c;
}

TEST(InputGradientKinds, FloatsAndHf32) {
  expectRight<float, ConvFormat::NDC1HWC0>(odd());
  expectRight<float, ConvFormat::NCDHW>(odd());
  Way rounded;
  rounded.hf32 = true;  // small integers are exact in 11 bits
  expectRight<float, ConvFormat::NDC1HWC0>(odd(), rounded);
  expectRight<half, ConvFormat::NDC1HWC0, float>(odd());
  expectRight<bfloat16_t, ConvFormat::NCDHW, float>(odd());
}

TEST(InputGradientKinds, PartsOfTheSumAreAddedInMemory) {
  const AscendCase c(problemOf(1, 20, 40, {2, 7, 6}, {2, 3, 3}, {1, 1, 1}));
  Way parts;
  parts.kParts = 3;
  expectRight<half, ConvFormat::NDC1HWC0, float>(c, parts);
  expectRight<half, ConvFormat::NCDHW, float>(c, parts);
  expectRight<half, ConvFormat::NDC1HWC0>(c, parts);
  parts.kParts = 2;  // of 3 blocks: 2 and 1
  expectRight<float, ConvFormat::NCDHW>(AscendCase(problemOf(1, 20, 24, {2, 7, 6}, {2, 3, 3}, {1, 1, 1})), parts);
}

// The documented class tiles no groups; its struct filled by hand does.
TEST(InputGradientKinds, GroupsByHand) {
  Problem grouped = problemOf(2, 64, 32, {2, 6, 5}, {1, 3, 3}, {0, 1, 1});
  grouped.groups = 2;
  const AscendCase c(grouped);
  Way run;
  run.change = [](Tiling& t) {
    t.group = 2;
    t.cin1G = 2, t.cout1G = 1;
    t.singleCoreCout = 16, t.singleCoreCout1 = 1;
    t.singleCoreCin = 32, t.singleCoreCin1 = 2;
    t.baseN = 32, t.baseK = 48, t.stepKa = t.stepKb = 3;
  };
  expectRight<half, ConvFormat::NDC1HWC0>(c, run);
  expectRight<half, ConvFormat::NCDHW>(c, run);
}

TEST(InputGradientKinds, OtherChipsRunWhatTheVendorsDoNot) {
  EXPECT_TRUE((expectRight<half, ConvFormat::NDC1HWC0>(odd(), {"ascend910_9391"})).empty());
  for (const char* soc : {"ascend310p3", "ascend910a", "ascend310b1"}) {
    SCOPED_TRACE(soc);
    const auto notes = expectRight<half, ConvFormat::NCDHW>(odd(), {soc});
    EXPECT_THAT(notes, testing::ElementsAre(HasSubstr(std::string("the vendor has none for ") + soc)));
  }
}

TEST(InputGradientKinds, ATypeTheChipLacksIsToldWithChipsThatHaveIt) {
  SmallInputGradient s;
  ascendc::LaunchOptions options;
  options.soc = "ascend910a";
  options.blocks = 1;
  const auto report = ascendc::launch(options, [&] {
    InputGradient<bfloat16_t> g;
    g.Init(&s.t());
    g.End();
  });
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.error().message, testing::AllOf(HasSubstr("bf16 is no type of the cube of ascend910a"),
                                                     HasSubstr("chips that have it: "), HasSubstr("ascend910b1")));
}

// As tilings of f32 were published: base blocks of whole c0, whose last fractals are filled up.
TEST(InputGradientKinds, BaseBlocksOfWholeC0) {
  Way run;
  run.change = [](Tiling& t) { t.baseM = 40, t.baseN = 8, t.baseK = 72; };
  expectRight<float, ConvFormat::NDC1HWC0>(odd(), run);
  expectRight<float, ConvFormat::NCDHW>(odd(), run);
  run.hf32 = true;
  expectRight<float, ConvFormat::NDC1HWC0>(odd(), run);
}

// A core's generated code and its interpreted program leave the same bits, and count the same.
TEST(InputGradientKinds, InterpretedProgramsLeaveTheSameBits) {
  SmallInputGradient s;
  std::vector<half> results[2];
  CoreCounts counts[2];
  for (half& h : s.weight) h = half(static_cast<float>(h) * 0.37F);  // sums that are rounded
  for (const bool interpreted : {false, true}) {
    if (interpreted) setenv("CUBEJIT_BACKEND", "tile_interpreter", 1);
    std::fill(s.gradInput.begin(), s.gradInput.end(), half(0.0F));
    const auto report = s.launch(ascendc::LaunchOptions{});
    unsetenv("CUBEJIT_BACKEND");
    ASSERT_TRUE(report.ok()) << report.error().message;
    results[interpreted ? 1 : 0] = s.gradInput;
    counts[interpreted ? 1 : 0] = report->cores[0].counts;
  }
  for (std::size_t i = 0; i < results[0].size(); ++i) ASSERT_EQ(results[0][i].bits(), results[1][i].bits()) << i;
  EXPECT_GT(counts[0].cubeSteps, 0);
  EXPECT_EQ(counts[0].cubeSteps, counts[1].cubeSteps);
  EXPECT_EQ(counts[0].cycles, counts[1].cycles);
  EXPECT_EQ(counts[0].bytes, counts[1].bytes);
}

TEST(InputGradientKinds, ShapesOfKnownNetworksMadeSmall) {
  expectRight<half, ConvFormat::NDC1HWC0>(AscendCase(problemOf(1, 80, 96, {7, 5, 8}, {3, 1, 1}, {1, 0, 0})));
  expectRight<bfloat16_t, ConvFormat::NCDHW>(AscendCase(problemOf(2, 64, 3, {4, 14, 14}, {3, 3, 3}, {0, 0, 0})));
  expectRight<half, ConvFormat::NCDHW>(AscendCase(problemOf(1, 32, 48, {3, 17, 15}, {2, 3, 3}, {0, 1, 1}, {1, 2, 2})));
}

}  // namespace
}  // namespace cubejit
