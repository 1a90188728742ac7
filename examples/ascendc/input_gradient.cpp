// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the documented input-gradient kernel on an emulated Ascend 910B2: tiling, launch on all cores, comparison with plain loops,
// and what the chip would have done. See docs/howto/run_an_ascend_c_kernel.md.
#include <cstdio>

#include "convolution.h"
#include "cubejit/cubejit.h"
#include "cubejit_ascendc/launch.h"
#include "input_gradient_kernel.h"
#include "tiling/conv_backprop/conv3d_bp_input_tiling.h"
#include "tiling/platform/platform_ascendc.h"

namespace {

template <class T>
bool run(ConvCommonApi::ConvDtype dtype, const char* name) {
  const Convolution c;
  using ConvCommonApi::ConvFormat;
  using ConvCommonApi::TPosition;
  // [tiling]
  const auto* platform = platform_ascendc::PlatformAscendCManager::GetInstance("Ascend910B2");
  ConvBackpropApi::Conv3DBpInputTiling tiling(*platform);
  tiling.SetWeightType(TPosition::GM, ConvFormat::FRACTAL_Z_3D, dtype);
  tiling.SetInputType(TPosition::GM, ConvFormat::NCDHW, dtype);
  tiling.SetGradOutputType(TPosition::GM, ConvFormat::NDC1HWC0, dtype);
  tiling.SetWeightShape(c.cout, c.cin, c.kd, c.kh, c.kw);
  tiling.SetInputShape(c.n, c.cin, c.di, c.hi, c.wi);
  tiling.SetGradOutputShape(c.n, c.cout, c.dout(), c.ho(), c.wo());
  tiling.SetPadding(c.padD, c.padD, c.padH, c.padH, c.padW, c.padW);
  tiling.SetStride(1, c.strideH, c.strideW);
  AscendC::tiling::Conv3DBackpropInputTilingData tilingData;
  if (tiling.GetTiling(tilingData) != 0) return std::fprintf(stderr, "%s\n", cubejit_last_error()), false;
  // [tiling]

  const FractalWeights weights{c.cout, c.cin, c.kd, c.kh, c.kw};
  std::vector<T> weight(weights.elements(), T(0.0F));
  for (int64_t o = 0; o < c.cout; ++o)
    for (int64_t i = 0; i < c.cin; ++i)
      for (int64_t d = 0; d < c.kd; ++d)
        for (int64_t h = 0; h < c.kh; ++h)
          for (int64_t w = 0; w < c.kw; ++w) weight[weights.at(o, i, d, h, w)] = T(Convolution::weight(o, i, d, h, w));
  auto gradOutput = Blocked{c.cout, c.dout(), c.ho(), c.wo()}.filled<T>(c.n, Convolution::dy);
  // Blocks that receive nothing are not written, so gradInput starts at zero.
  std::vector<T> gradInput(static_cast<std::size_t>(c.n * c.cin * c.di * c.hi * c.wi), T(0.0F));

  // [launch]
  using cubejit::ascendc::globalMemory;
  cubejit::ascendc::LaunchOptions options;  // an ascend910b2, one block for each of its cores
  const auto report = cubejit::ascendc::launch(options, inputGradient<T>, globalMemory(weight),
                                               globalMemory(gradOutput), globalMemory(gradInput), &tilingData);
  if (!report.ok()) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), false;
  // [launch]

  std::vector<float> right(gradInput.size(), 0.0F);
  c.forEachTap([&](int64_t n, int64_t od, int64_t oh, int64_t ow, int64_t kd, int64_t kh, int64_t kw, int64_t d,
                   int64_t h, int64_t w) {
    for (int64_t o = 0; o < c.cout; ++o)
      for (int64_t i = 0; i < c.cin; ++i)
        right[static_cast<std::size_t>((((n * c.cin + i) * c.di + d) * c.hi + h) * c.wi + w)] +=
            Convolution::dy(n, o, od, oh, ow) * Convolution::weight(o, i, kd, kh, kw);
  });
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < right.size(); ++i) wrong += gradInput[i].bits() != T(right[i]).bits() ? 1 : 0;

  int64_t blocks = 0, steps = 0;
  double slowest = 0;
  for (const auto& core : report->cores) {
    blocks += core.stored;
    steps += core.counts.cubeSteps;
    slowest = core.counts.cycles > slowest ? core.counts.cycles : slowest;
  }
  std::printf("%s: %zu of %zu elements wrong; %zu cores of %s, %lld blocks, %lld cube steps, %.0f cycles\n", name,
              wrong, right.size(), report->cores.size(), report->machine.c_str(), static_cast<long long>(blocks),
              static_cast<long long>(steps), slowest);
  return wrong == 0;
}

}  // namespace

int main() {
  const bool halves = run<half>(ConvCommonApi::ConvDtype::FLOAT16, "half");
  const bool bfloats = run<bfloat16_t>(ConvCommonApi::ConvDtype::BF16, "bfloat16_t");
  return halves && bfloats ? 0 : 1;
}
