// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of whole layers of known networks: with the tilings that were published for them, elements of the input
// gradient are right to the rounding that the sums allow.
#include <gtest/gtest.h>

#include <cmath>

#include "api/ascendc/kernel/single_shape.h"
#include "cubejit/cubejit.h"
#include "runtime/verify/sampled_pass.h"
#include "tests/support/ascend_dx_kernel.h"
#include "tests/support/layers.h"

namespace cubejit {
namespace {

using Tiling = AscendC::tiling::TConv3DBackpropInputTiling;

struct PublishedBlocks {
  std::uint64_t m = 0;
  std::uint32_t cout1 = 0, cin1 = 0, baseM = 0, baseK = 0, baseN = 0, bl1 = 0, stepKa = 0, stepKb = 0;
};

template <class T, ConvCommonApi::ConvFormat Format>
void expectRight(const Problem& problem, const PublishedBlocks& blocks) {
  AscendCase c(problem, 5);
  const Problem& p = c.problem;
  for (std::vector<float>* values : {&c.dy, &c.w})
    for (float& f : *values) f = static_cast<float>(T(f * 0.31F + 0.017F));
  ConvBackpropApi::Conv3DBpInputTiling tiling;
  tiling.SetWeightShape(p.cout, p.cin, p.kernel.d, p.kernel.h, p.kernel.w);
  tiling.SetInputShape(p.batch, p.cin, p.in.d, p.in.h, p.in.w);
  tiling.SetGradOutputShape(p.batch, p.cout, p.out.d, p.out.h, p.out.w);
  tiling.SetPadding(p.padBefore.d, p.padAfter.d, p.padBefore.h, p.padAfter.h, p.padBefore.w, p.padAfter.w);
  tiling.SetStride(p.stride.d, p.stride.h, p.stride.w);
  AscendC::tiling::Conv3DBackpropInputTilingData data;
  ASSERT_EQ(tiling.GetTiling(data), 0) << cubejit_last_error();
  Tiling& t = data.conv3DDxTiling;
  if (blocks.m > 0) {
    t.singleCoreM = blocks.m;
    t.singleCoreCout1 = blocks.cout1, t.singleCoreCout = blocks.cout1 * 16;
    t.singleCoreCin1 = blocks.cin1, t.singleCoreCin = std::uint64_t{blocks.cin1} * 16;
    t.baseM = blocks.baseM, t.baseK = blocks.baseK, t.baseN = blocks.baseN;
    t.al0Pbuffer = t.bl0Pbuffer = t.al1Pbuffer = 2, t.cl0Pbuffer = 1, t.bl1Pbuffer = blocks.bl1;
    t.stepKa = blocks.stepKa, t.stepKb = blocks.stepKb;
  }
  auto dy = c.pack<T>(TensorId::kDy, Layout::kNdc1hwc0, c.dy), w = c.pack<T>(TensorId::kW, Layout::kFractalZ3d, c.w);
  const Layout layout = Format == ConvCommonApi::ConvFormat::NCDHW ? Layout::kNcdhw : Layout::kNdc1hwc0;
  const Problem result = c.with(TensorId::kDx, ascendc::kDTypeOf<T>, layout, 16);
  std::vector<T> dx(static_cast<std::size_t>(indexMap(result, TensorId::kDx).elements), T(0.0F));
  const auto report = ascendc::launch({}, inputKernel<T, Format>, ascendc::globalMemory(w), ascendc::globalMemory(dy),
                                      ascendc::globalMemory(dx), &t, &t, 1);
  ASSERT_TRUE(report.ok()) << report.error().message;
  std::vector<float> plain(static_cast<std::size_t>(xElements(p)));
  forEachElement(result, TensorId::kDx,
                 [&](std::size_t to, std::size_t from) { plain[to] = static_cast<float>(dx[from]); });
  const double unit = std::is_same_v<T, half> ? std::ldexp(1.0, -11) : std::ldexp(1.0, -8);
  const double summands = static_cast<double>(p.cout * p.kernel.volume());
  for (const SampledElement& e : sampledPass(p, Pass::kDx, 4e6, 3, c.dy, c.x, c.w))
    ASSERT_NEAR(plain[e.index], e.value, std::abs(e.value) * unit + e.bound * summands * std::ldexp(1.0, -24) + 1e-6)
        << e.index;
}

// The published task has 48 pixels, more than the 40 of a depth: kernels clamp, and the tasks here do.
TEST(PublishedShapes, Svd7) {
  const Problem p = problemOf(1, 1280, 1280, {25, 5, 8}, {3, 1, 1}, {1, 0, 0});
  expectRight<half, ConvCommonApi::ConvFormat::NDC1HWC0>(p, {48, 80, 16, 48, 64, 256, 2, 18, 3});
}
// Fewer images and depths than the network has.
TEST(PublishedShapes, Magvit1) {
  const Problem p = problemOf(1, 64, 3, {4, 130, 130}, {3, 3, 3}, {0, 0, 0});
  expectRight<half, ConvCommonApi::ConvFormat::NCDHW>(p, {16900, 1, 4, 336, 48, 64, 2, 3, 3});
}
TEST(PublishedShapes, StrideTwoAsPlannedHere) {
  Problem p = problemOf(1, 64, 128, {5, 65, 65}, {3, 3, 3}, {0, 0, 0});
  p.stride = Dhw{1, 2, 2};
  expectRight<bfloat16_t, ConvCommonApi::ConvFormat::NCDHW>(p, {});
  expectRight<half, ConvCommonApi::ConvFormat::NDC1HWC0>(p, {});
}

}  // namespace
}  // namespace cubejit
