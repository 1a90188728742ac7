// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows what a faulty kernel gets: not a crash, but the core, the block and the rule of everything it did wrong. The example
// succeeds if the faults below are reported.
#include <cstdio>

#include "convolution.h"
#include "cubejit/cubejit.h"
#include "cubejit_ascendc/launch.h"
#include "input_gradient_kernel.h"
#include "tiling/conv_backprop/conv3d_bp_input_tiling.h"

namespace {

// Fewer rows of gradOutput than there are, a tiling that does not fit, an object that is not ended.
bool reports(const char* what, void (*change)(AscendC::tiling::TConv3DBackpropInputTiling&), std::size_t dyMissing,
             bool forgetsEnd) {
  const Convolution c;
  ConvBackpropApi::Conv3DBpInputTiling tiling;
  tiling.SetWeightShape(c.cout, c.cin, c.kd, c.kh, c.kw);
  tiling.SetInputShape(c.n, c.cin, c.di, c.hi, c.wi);
  tiling.SetGradOutputShape(c.n, c.cout, c.dout(), c.ho(), c.wo());
  tiling.SetPadding(c.padD, c.padD, c.padH, c.padH, c.padW, c.padW);
  tiling.SetStride(1, c.strideH, c.strideW);
  AscendC::tiling::Conv3DBackpropInputTilingData data;
  if (tiling.GetTiling(data) != 0) return std::fprintf(stderr, "%s\n", cubejit_last_error()), false;
  if (change != nullptr) change(data.conv3DDxTiling);

  std::vector<half> weight(FractalWeights{c.cout, c.cin, c.kd, c.kh, c.kw}.elements(), half(1.0F));
  auto gradOutput = Blocked{c.cout, c.dout(), c.ho(), c.wo()}.filled<half>(c.n, Convolution::dy);
  gradOutput.resize(gradOutput.size() - dyMissing);
  std::vector<half> gradInput(static_cast<std::size_t>(c.n * c.cin * c.di * c.hi * c.wi), half(0.0F));
  cubejit::ascendc::LaunchOptions options;
  options.blocks = 2;
  const auto kernel = [forgetsEnd](half* w, half* dy, half* dx, const auto* tilingData) {
    if (!forgetsEnd)
      return inputGradient<half>(reinterpret_cast<GM_ADDR>(w), reinterpret_cast<GM_ADDR>(dy),
                                 reinterpret_cast<GM_ADDR>(dx), tilingData);
    using Types = ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::NDC1HWC0, half>;
    ConvBackpropApi::Conv3DBackpropInput<
        ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::FRACTAL_Z_3D, half>,
        ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::ND, int32_t>, Types, Types>
        gradient;
    gradient.Init(&tilingData->conv3DDxTiling);
    gradient.Iterate();
  };
  using cubejit::ascendc::globalMemory;
  const auto report = cubejit::ascendc::launch(options, kernel, globalMemory(weight), globalMemory(gradOutput),
                                               globalMemory(gradInput), &data);
  if (report.ok()) return std::fprintf(stderr, "%s: nothing was reported\n", what), false;
  std::printf("%s:\n%s\n\n", what, report.error().message.c_str());
  return true;
}

}  // namespace

int main() {
  bool all = reports("gradOutput is one element short", nullptr, 1, false);
  all &= reports("a tiling whose blocks are too large", [](auto& t) { t.baseM = 2048, t.baseK = 64; }, 0, false);
  all &= reports("no setters and no End", nullptr, 0, true);
  return all ? 0 : 1;
}
