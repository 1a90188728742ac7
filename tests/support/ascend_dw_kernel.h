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

template <class T>
__global__ __aicore__ void filterKernel(GM_ADDR input, GM_ADDR gradOutput, GM_ADDR gradWeight,
                                        const AscendC::tiling::Conv3DBackpropFilterTilingData* tilingData) {
  AscendC::GlobalTensor<T> inputGm, gradOutputGm;
  AscendC::GlobalTensor<float> gradWeightGm;
  inputGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(input));
  gradOutputGm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(gradOutput));
  gradWeightGm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(gradWeight));
  FilterGradient<T> gradient;
  gradient.Init(&(tilingData->dwTiling));
  FilterTasks tasks(tilingData->dwTiling);
  for (FilterTask task; tasks.next(task);) {
    gradient.ctx.isFirstIter_ = true;
    gradient.SetStartPosition(task.ho);
    gradient.SetSingleShape(task.m, task.n, task.k);
    gradient.SetInput(inputGm[task.offsetB]);
    gradient.SetGradOutput(gradOutputGm[task.offsetA]);
    while (gradient.Iterate()) gradient.GetTensorC(gradWeightGm[task.offsetC]);
  }
  gradient.End();
}

}  // namespace cubejit
