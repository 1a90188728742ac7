// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of Conv3DBackpropFilter: the right gradient, bit by bit, summed in memory by many cores, and what its
// last two arguments do.
#include <gtest/gtest.h>

#include "api/ascendc/kernel/single_shape.h"
#include "cubejit/cubejit.h"
#include "cubejit_ascendc/launch.h"
#include "tests/support/ascend_dw_kernel.h"
#include "tests/support/ascend_tensors.h"
#include "tests/support/layers.h"
#include "tiling/conv_backprop/conv3d_bp_filter_tiling.h"

namespace cubejit {
namespace {

using ascendc::globalMemory;
using TilingData = AscendC::tiling::Conv3DBackpropFilterTilingData;

template <class T>
TilingData tilingOf(const Problem& p) {
  using ConvCommonApi::ConvFormat;
  using ConvCommonApi::TPosition;
  const auto dtype = std::is_same_v<T, half> ? ConvCommonApi::ConvDtype::FLOAT16 : ConvCommonApi::ConvDtype::BF16;
  ConvBackpropApi::Conv3dBpFilterTiling tiling;
  tiling.SetWeightType(TPosition::GM, ConvFormat::FRACTAL_Z_3D, ConvCommonApi::ConvDtype::FLOAT32);
  tiling.SetInputType(TPosition::GM, ConvFormat::NDC1HWC0, dtype);
  tiling.SetGradOutputType(TPosition::GM, ConvFormat::NDC1HWC0, dtype);
  tiling.SetWeightShape(p.cout, p.cin, p.kernel.d, p.kernel.h, p.kernel.w);
  tiling.SetInputShape(p.batch, p.cin, p.in.d, p.in.h, p.in.w);
  tiling.SetGradOutputShape(p.batch, p.cout, p.out.d, p.out.h, p.out.w);
  tiling.SetPadding(p.padBefore.d, p.padAfter.d, p.padBefore.h, p.padAfter.h, p.padBefore.w, p.padAfter.w);
  tiling.SetStride(p.stride.d, p.stride.h, p.stride.w);
  tiling.SetDilation(p.dilation.d, p.dilation.h, p.dilation.w);
  TilingData data;
  EXPECT_EQ(tiling.GetTiling(data), 0) << cubejit_last_error();
  return data;
}

template <class T>
void expectRight(const AscendCase& c, std::int64_t blocks, void (*change)(TilingData&)) {
  TilingData data = tilingOf<T>(c.problem);
  if (change != nullptr) change(data);
  auto x = c.pack<T>(TensorId::kX, Layout::kNdc1hwc0, c.x), dy = c.pack<T>(TensorId::kDy, Layout::kNdc1hwc0, c.dy);
  const Problem result = c.with(TensorId::kDw, DType::kF32, Layout::kFractalZ3d, 16);
  std::vector<float> dw(static_cast<std::size_t>(indexMap(result, TensorId::kDw).elements), 0.0F);
  ascendc::LaunchOptions options;
  options.blocks = blocks;
  const auto report =
      ascendc::launch(options, filterEntry<T>, globalMemory(x), globalMemory(dy), globalMemory(dw), &data);
  ASSERT_TRUE(report.ok()) << report.error().message;
  const auto reference = c.reference();
  std::size_t wrong = 0;
  forEachElement(result, TensorId::kDw, [&](std::size_t plain, std::size_t at) {
    if (static_cast<double>(dw[at]) != reference.dw[plain] && wrong++ < 3)
      ADD_FAILURE() << "element " << plain << ": " << dw[at] << ", must be " << reference.dw[plain];
  });
  EXPECT_EQ(wrong, 0U);
}

void expectAllRight(const AscendCase& c, void (*change)(TilingData&) = nullptr) {
  for (const std::int64_t blocks : {1, 5, 24}) {
    SCOPED_TRACE("blocks " + std::to_string(blocks));
    expectRight<half>(c, blocks, change);
    expectRight<bfloat16_t>(c, blocks, change);
  }
}

TEST(FilterGradient, PlainConvolution) {
  expectAllRight(AscendCase(problemOf(2, 20, 24, {3, 7, 6}, {3, 3, 3}, {1, 1, 1})));
}
TEST(FilterGradient, StridedAndDilated) {
  expectAllRight(AscendCase(problemOf(1, 18, 40, {6, 12, 11}, {2, 3, 2}, {1, 2, 1}, {1, 2, 2}, {2, 2, 3})));
}
TEST(FilterGradient, TilingsChangedByHand) {
  expectAllRight(AscendCase(problemOf(1, 40, 36, {2, 9, 7}, {2, 3, 3}, {1, 1, 1})), [](TilingData& data) {
    auto& t = data.dwTiling;
    t.singleCoreCout = 32, t.singleCoreCin = 32, t.singleCoreHo = 4;
    t.baseM = 16, t.baseN = 48, t.baseK = 16;
    t.stepKa = t.stepKb = 1;
    t.iterateOrder = 1 - t.iterateOrder;
    t.bl1Bound = 1 << 18;
  });
}

// enAtomic other than 1 overwrites; by itself, a block lies at output[0] with baseM rows a panel.
TEST(FilterGradient, OverwritesOrWritesBlocksByThemselves) {
  const AscendCase c(problemOf(1, 16, 40, {1, 5, 6}, {1, 2, 2}, {0, 0, 0}));
  TilingData data = tilingOf<half>(c.problem);
  data.dwTiling.baseM = 32, data.dwTiling.baseN = 32, data.dwTiling.baseK = 16;
  data.dwTiling.stepKa = data.dwTiling.stepKb = 1;
  auto x = c.pack<half>(TensorId::kX, Layout::kNdc1hwc0, c.x);
  auto dy = c.pack<half>(TensorId::kDy, Layout::kNdc1hwc0, c.dy);
  constexpr std::size_t kMemory = 48 * 64;
  std::vector<float> whole(kMemory, 5.0F), again(kMemory, 5.0F), alone(kMemory, 5.0F);
  std::vector<std::size_t> order;
  const auto kernel = [&] {
    AscendC::GlobalTensor<half> xGm, dyGm;
    xGm.SetGlobalBuffer(x.data(), x.size());
    dyGm.SetGlobalBuffer(dy.data(), dy.size());
    AscendC::GlobalTensor<float> wholeGm, againGm, aloneGm;
    wholeGm.SetGlobalBuffer(whole.data(), whole.size());
    againGm.SetGlobalBuffer(again.data(), again.size());
    for (const int way : {0, 1, 2}) {
      FilterGradient<half> g;
      g.Init(&data.dwTiling);
      g.SetInput(xGm);
      g.SetGradOutput(dyGm);
      g.SetSingleShape(48, 64, 20);
      g.SetStartPosition(0);
      for (std::size_t block = 0; g.Iterate(); ++block) {
        if (way == 0) g.GetTensorC(wholeGm, 0);
        if (way == 1) g.GetTensorC(againGm);
        if (way == 2) {
          aloneGm.SetGlobalBuffer(alone.data(), alone.size());
          g.GetTensorC(aloneGm, 0, true);
          if (block == 0) {
            for (std::size_t column = 0; column < 32; ++column)
              for (std::size_t row = 0; row < 32; ++row)
                EXPECT_EQ(alone[column / 16 * 32 * 16 + row * 16 + column % 16],
                          whole[column / 16 * 48 * 16 + row * 16 + column % 16]);
            EXPECT_EQ(alone[32 * 32], 5.0F) << "behind the block";
          }
        }
      }
      g.End();
    }
  };
  ascendc::LaunchOptions options;
  options.blocks = 1;
  const auto report = ascendc::launch(options, kernel);
  ASSERT_TRUE(report.ok()) << report.error().message;
  for (std::size_t i = 0; i < kMemory; ++i) ASSERT_EQ(again[i], whole[i] + 5.0F) << i;
}

}  // namespace
}  // namespace cubejit
