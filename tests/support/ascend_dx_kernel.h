// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the input gradient's class for tests, by type and result format, a kernel around it, and one small gradient with
// everything it needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cubejit_ascendc/launch.h"
#include "lib/conv_backprop/conv3d_bp_input_api.h"
#include "tests/support/ascend_tasks.h"
#include "tests/support/ascend_tensors.h"
#include "tiling/conv_backprop/conv3d_bp_input_tiling.h"

namespace cubejit {

template <class T, ConvCommonApi::ConvFormat Format = ConvCommonApi::ConvFormat::NDC1HWC0, class Result = T>
using InputGradient = ConvBackpropApi::Conv3DBackpropInput<
    ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::FRACTAL_Z_3D, T>,
    ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::ND, int32_t>,
    ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::NDC1HWC0, T>,
    ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, Format, Result>>;

/// One object a block and all of the block's tasks, dealt as `tasked` says and computed under the tiling `t`; K in parts that are
/// added in memory.
template <class T, ConvCommonApi::ConvFormat Format = ConvCommonApi::ConvFormat::NDC1HWC0, class Result = T>
void inputKernel(T* weight, T* gradOutput, Result* gradInput, const AscendC::tiling::TConv3DBackpropInputTiling* t,
                 const AscendC::tiling::TConv3DBackpropInputTiling* tasked, std::int64_t kParts) {
  AscendC::GlobalTensor<T> w, dy;
  AscendC::GlobalTensor<Result> dx;
  w.SetGlobalBuffer(weight);
  dy.SetGlobalBuffer(gradOutput);
  dx.SetGlobalBuffer(gradInput);
  InputGradient<T, Format, Result> g;
  g.Init(t);
  InputTasks tasks(*tasked, Format);
  const std::uint64_t blocks = tasked->cout1G, each = static_cast<std::uint64_t>(partsOf(tasked->cout1G, kParts));
  for (InputTask task; tasks.next(task);) {
    for (std::uint64_t k = 0; k < blocks; k += each) {
      const std::uint64_t c0 = tasked->c0, part = std::min(each, blocks - k);
      g.ctx.isFirstIter_ = true;
      g.SetSingleShape(task.m, task.k / blocks * part, task.n);
      g.SetStartPosition(task.din, task.ho);
      g.SetGradOutput(dy[task.offsetA + k * tasked->ho * tasked->wo * c0]);
      g.SetWeight(w[task.offsetB + k * c0 * c0]);
      while (g.Iterate()) g.GetTensorC(dx[task.offsetC], kParts > 1 ? 1 : 0);
    }
  }
  g.End();
}

/// 3x3, padding 1, 16 rows of 8: four blocks of 32 x 32 with single shapes of one depth.
class SmallInputGradient {
 public:
  SmallInputGradient() : tensors(made()) {
    const Problem& p = tensors.problem;
    ConvBackpropApi::Conv3DBpInputTiling tiling;
    tiling.SetWeightShape(p.cout, p.cin, p.kernel.d, p.kernel.h, p.kernel.w);
    tiling.SetInputShape(p.batch, p.cin, p.in.d, p.in.h, p.in.w);
    tiling.SetGradOutputShape(p.batch, p.cout, p.out.d, p.out.h, p.out.w);
    tiling.SetPadding(0, 0, 1, 1, 1, 1);
    status = tiling.GetTiling(data);
    t().baseM = 64, t().baseN = 16, t().baseK = 16;
    t().stepKa = t().stepKb = 1;
    weight = tensors.pack<half>(TensorId::kW, Layout::kFractalZ3d, tensors.w);
    gradOutput = tensors.pack<half>(TensorId::kDy, Layout::kNdc1hwc0, tensors.dy);
    gradInput.assign(static_cast<std::size_t>(2 * 2 * kPixels * 16), half(-77.0F));
  }
  AscendC::tiling::TConv3DBackpropInputTiling& t() { return data.conv3DDxTiling; }
  std::uint64_t k() { return std::uint64_t{t().hk} * t().wk * t().cout1G * t().c0; }

  /// Init and all setters, for all of the first depth.
  template <class Kernel>
  void prepare(Kernel& g) {
    g.Init(&t());
    set(g);
  }
  template <class Kernel>
  void set(Kernel& g) {
    AscendC::GlobalTensor<half> w, dy;
    w.SetGlobalBuffer(weight.data(), weight.size());
    dy.SetGlobalBuffer(gradOutput.data(), gradOutput.size());
    g.SetWeight(w);
    g.SetGradOutput(dy);
    g.SetSingleShape(kPixels, k(), 32);
    g.SetStartPosition(0, -1);
  }
  /// A launch of one block that computes it.
  Result<ascendc::LaunchReport> launch(ascendc::LaunchOptions options) {
    options.blocks = 1;
    return ascendc::launch(options, [&] {
      InputGradient<half> g;
      prepare(g);
      while (g.Iterate()) g.GetTensorC(output());
      g.End();
    });
  }
  AscendC::GlobalTensor<half> output() {
    AscendC::GlobalTensor<half> dx;
    dx.SetGlobalBuffer(gradInput.data(), gradInput.size());
    return dx;
  }

  static constexpr std::int64_t kPixels = 16 * 8;
  AscendCase tensors;
  AscendC::tiling::Conv3DBackpropInputTilingData data;
  std::int64_t status = -1;
  std::vector<half> weight, gradOutput, gradInput;

 private:
  static Problem made() {
    Problem p;
    p.cin = 32, p.cout = 16;
    p.in = Dhw{2, 16, 8}, p.kernel = Dhw{1, 3, 3};
    p.padBefore = p.padAfter = Dhw{0, 1, 1};
    return p;
  }
};

}  // namespace cubejit
