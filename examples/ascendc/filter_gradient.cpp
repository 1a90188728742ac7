// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the documented filter gradient on an emulated chip: the caller's loops over images and depths, and sums that cores add in
// memory. See docs/howto/run_an_ascend_c_kernel.md.
#include <cstdio>

#include "convolution.h"
#include "cubejit/cubejit.h"
#include "cubejit_ascendc/launch.h"
#include "lib/conv_backprop/conv3d_bp_filter_api.h"
#include "tiling/conv_backprop/conv3d_bp_filter_tiling.h"

namespace {

using ConvCommonApi::ConvFormat;
using ConvCommonApi::TPosition;
using InputType = ConvBackpropApi::ConvType<TPosition::GM, ConvFormat::NDC1HWC0, half>;
using WeightSizeType = ConvBackpropApi::ConvType<TPosition::GM, ConvFormat::ND, int32_t>;
using GradOutputType = ConvBackpropApi::ConvType<TPosition::GM, ConvFormat::NDC1HWC0, half>;
using GradWeightType = ConvBackpropApi::ConvType<TPosition::GM, ConvFormat::FRACTAL_Z_3D, float>;

// [kernel]
// Blocks take every GetBlockNum()-th pair of an image and a depth of gradOutput, whole. One object serves many single shapes.
__global__ __aicore__ void filterGradient(GM_ADDR input, GM_ADDR gradOutput, GM_ADDR gradWeight,
                                          const AscendC::tiling::Conv3DBackpropFilterTilingData* tilingData) {
  const auto& t = tilingData->dwTiling;
  AscendC::GlobalTensor<half> inputGm, gradOutputGm;
  AscendC::GlobalTensor<float> gradWeightGm;
  inputGm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(input));
  gradOutputGm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(gradOutput));
  gradWeightGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(gradWeight));
  const int64_t c0 = t.channelSize, taps = int64_t{t.hk} * t.wk, cout = (t.cout1G * c0 + 15) / 16 * 16;

  ConvBackpropApi::Conv3DBackpropFilter<InputType, WeightSizeType, GradOutputType, GradWeightType> gradient;
  gradient.Init(&(tilingData->dwTiling));
  for (int64_t task = AscendC::GetBlockIdx(); task < int64_t{t.batch} * t.dout; task += AscendC::GetBlockNum()) {
    const int64_t image = task / t.dout, od = task % t.dout;
    for (int64_t kd = 0; kd < t.dk; ++kd) {
      const int64_t din = od * t.strideD - t.padFront + kd * t.dilationD;
      if (din < 0 || din >= t.di) continue;  // these depths do not meet
      gradient.ctx.isFirstIter_ = true;      // another single shape begins
      gradient.SetStartPosition(0);
      gradient.SetSingleShape(static_cast<uint64_t>(cout), static_cast<uint64_t>(t.cin1G * c0 * taps),
                              uint64_t{t.ho} * t.wo);  // M, N, K
      gradient.SetInput(inputGm[static_cast<uint64_t>((image * t.di + din) * t.cin1G * t.hi * t.wi * c0)]);
      gradient.SetGradOutput(gradOutputGm[static_cast<uint64_t>((image * t.dout + od) * t.cout1G * t.ho * t.wo * c0)]);
      while (gradient.Iterate())
        gradient.GetTensorC(gradWeightGm[static_cast<uint64_t>(kd * t.cin1G * c0 * cout * taps)]);
    }
  }
  gradient.End();
}
// [kernel]

}  // namespace

int main() {
  const Convolution c;
  ConvBackpropApi::Conv3dBpFilterTiling tiling;
  tiling.SetWeightType(TPosition::GM, ConvFormat::FRACTAL_Z_3D, ConvCommonApi::ConvDtype::FLOAT32);
  tiling.SetInputType(TPosition::GM, ConvFormat::NDC1HWC0, ConvCommonApi::ConvDtype::FLOAT16);
  tiling.SetGradOutputType(TPosition::GM, ConvFormat::NDC1HWC0, ConvCommonApi::ConvDtype::FLOAT16);
  tiling.SetWeightShape(c.cout, c.cin, c.kd, c.kh, c.kw);
  tiling.SetInputShape(c.n, c.cin, c.di, c.hi, c.wi);
  tiling.SetGradOutputShape(c.n, c.cout, c.dout(), c.ho(), c.wo());
  tiling.SetPadding(c.padD, c.padD, c.padH, c.padH, c.padW, c.padW);
  tiling.SetStride(1, c.strideH, c.strideW);
  AscendC::tiling::Conv3DBackpropFilterTilingData tilingData;
  if (tiling.GetTiling(tilingData) != 0) return std::fprintf(stderr, "%s\n", cubejit_last_error()), 1;

  const FractalWeights weights{c.cout, c.cin, c.kd, c.kh, c.kw};
  auto input = Blocked{c.cin, c.di, c.hi, c.wi}.filled<half>(c.n, Convolution::x);
  auto gradOutput = Blocked{c.cout, c.dout(), c.ho(), c.wo()}.filled<half>(c.n, Convolution::dy);
  std::vector<float> gradWeight(weights.elements(), 0.0F);  // zero, because cores add to it

  using cubejit::ascendc::globalMemory;
  const auto report = cubejit::ascendc::launch({}, filterGradient, globalMemory(input), globalMemory(gradOutput),
                                               globalMemory(gradWeight), &tilingData);
  if (!report.ok()) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), 1;

  std::vector<float> right(gradWeight.size(), 0.0F);
  c.forEachTap([&](int64_t n, int64_t od, int64_t oh, int64_t ow, int64_t kd, int64_t kh, int64_t kw, int64_t d,
                   int64_t h, int64_t w) {
    for (int64_t o = 0; o < c.cout; ++o)
      for (int64_t i = 0; i < c.cin; ++i)
        right[weights.at(o, i, kd, kh, kw)] += Convolution::dy(n, o, od, oh, ow) * Convolution::x(n, i, d, h, w);
  });
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < right.size(); ++i) wrong += gradWeight[i] != right[i] ? 1 : 0;
  std::printf("%zu of %zu elements wrong\n", wrong, right.size());
  return wrong == 0 ? 0 : 1;
}
