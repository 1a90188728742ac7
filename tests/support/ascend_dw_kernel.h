// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides a kernel around Conv3DBackpropFilter for tests: one object a block, many single shapes, atomic adds.
#pragma once

#include "lib/conv_backprop/conv3d_bp_filter_api.h"
#include "tests/support/ascend_tasks.h"

namespace cubejit {

template <class T>
using FilterGradient = ConvBackpropApi::Conv3DBackpropFilter<
    ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::NDC1HWC0, T>,
    ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::ND, int32_t>,
    ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::NDC1HWC0, T>,
    ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::FRACTAL_Z_3D, float>>;

/// The tasks are dealt as `tasked` says and computed under the tiling `t`.
template <class T>
void filterKernel(T* input, T* gradOutput, float* gradWeight, const AscendC::tiling::TConv3DBpFilterTiling* t,
                  const AscendC::tiling::TConv3DBpFilterTiling* tasked) {
  AscendC::GlobalTensor<T> x, dy;
  AscendC::GlobalTensor<float> dw;
  x.SetGlobalBuffer(input);
  dy.SetGlobalBuffer(gradOutput);
  dw.SetGlobalBuffer(gradWeight);
  FilterGradient<T> g;
  g.Init(t);
  FilterTasks tasks(*tasked);
  for (FilterTask task; tasks.next(task);) {
    g.ctx.isFirstIter_ = true;
    g.SetStartPosition(task.ho);
    g.SetSingleShape(task.m, task.n, task.k);
    g.SetInput(x[task.offsetB]);
    g.SetGradOutput(dy[task.offsetA]);
    while (g.Iterate()) g.GetTensorC(dw[task.offsetC]);
  }
  g.End();
}

template <class T>
__global__ __aicore__ void filterEntry(GM_ADDR input, GM_ADDR gradOutput, GM_ADDR gradWeight,
                                       const AscendC::tiling::Conv3DBackpropFilterTilingData* data) {
  filterKernel(reinterpret_cast<__gm__ T*>(input), reinterpret_cast<__gm__ T*>(gradOutput),
               reinterpret_cast<__gm__ float*>(gradWeight), &data->dwTiling, &data->dwTiling);
}

}  // namespace cubejit
