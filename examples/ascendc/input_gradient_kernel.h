// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device code: the input gradient of a convolution on as many cores as there are. Decides which single shapes each block computes
// and where they lie; leaves computing to the documented class. docs/howto/run_an_ascend_c_kernel.md walks through it.
#pragma once

#include "kernel_operator.h"
#include "lib/conv_backprop/conv3d_bp_input_api.h"

template <class weightType, class gradOutputType, class gradInputType>
class InputGradientKernel {
 public:
  __aicore__ inline InputGradientKernel(GM_ADDR weight, GM_ADDR gradOutput, GM_ADDR gradInput,
                                        const AscendC::tiling::Conv3DBackpropInputTilingData* data)
      : tilingData(data) {
    weightGm_.SetGlobalBuffer(reinterpret_cast<__gm__ weightType*>(weight));
    gradOutputGm_.SetGlobalBuffer(reinterpret_cast<__gm__ gradOutputType*>(gradOutput));
    gradInputGm_.SetGlobalBuffer(reinterpret_cast<__gm__ gradInputType*>(gradInput));
  }

  // Tasks are pieces of (rows, image, depth, channels); each block takes a contiguous run of them.
  __aicore__ inline void Process() {
    const auto& t = tilingData->conv3DDxTiling;
    const uint64_t rows = t.singleCoreM / t.wi, mParts = (t.hi + rows - 1) / rows,
                   nParts = (t.cin + t.singleCoreCin - 1) / t.singleCoreCin;
    const uint64_t tasks = mParts * t.batch * t.di * nParts;
    const uint64_t blocks = static_cast<uint64_t>(AscendC::GetBlockNum()), share = (tasks + blocks - 1) / blocks;
    const uint64_t first = static_cast<uint64_t>(AscendC::GetBlockIdx()) * share;
    for (uint64_t task = first; task < first + share && task < tasks; ++task) {
      const uint64_t n = task % nParts, din = task / nParts % t.di, image = task / nParts / t.di % t.batch,
                     m = task / nParts / t.di / t.batch;
      Place(m * rows, image, din, n * t.singleCoreCin);
      Compute();
    }
  }

 private:
  // [place]
  __aicore__ inline void Place(uint64_t row, uint64_t image, uint64_t din, uint64_t channel) {
    const auto& t = tilingData->conv3DDxTiling;
    const uint64_t rows = t.singleCoreM / t.wi, plane = uint64_t{t.hi} * t.wi, taps = uint64_t{t.hk} * t.wk;
    const uint64_t alignedCout = (uint64_t{t.cout1G} * t.c0 + 15) / 16 * 16;
    singleShapeM_ = (row + rows < t.hi ? rows : t.hi - row) * t.wi;
    singleShapeK_ = uint64_t{t.dk} * taps * t.cout1G * t.c0;
    singleShapeN_ = static_cast<uint32_t>(channel + t.singleCoreCin < t.cin ? t.singleCoreCin : t.cin - channel);
    dinStartIdx_ = static_cast<uint32_t>(din);
    curHoStartIdx_ = static_cast<int32_t>(row) - static_cast<int32_t>(t.backpropPadUp);
    const uint64_t alignedHo =
        curHoStartIdx_ < 0 ? 0 : (static_cast<uint64_t>(curHoStartIdx_) + t.strideH - 1) / t.strideH;
    offsetA_ = (image * t.dout * t.cout1 * t.ho + alignedHo) * t.wo * t.c0;
    offsetB_ = channel / t.c0 * taps * alignedCout * t.c0;
    offsetC_ = (image * t.cin + channel) * t.di * plane + row * t.wi;
  }
  // [place]

  // The listing of the documentation's usage page, as it stands there. Each part is one of its steps.
  // clang-format off
  __aicore__ inline void Compute() {
    // [create]
    using weightDxType = ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::FRACTAL_Z_3D, weightType>;
    using inputSizeDxType =	ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::ND, int32_t>;
    using gradOutputDxType = ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::NDC1HWC0, gradOutputType>;
    using gradInputDxType = ConvBackpropApi::ConvType<ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::NCDHW, gradInputType>;
    // [create]

    // [init]
    // Perform initialization after registration.
    ConvBackpropApi::Conv3DBackpropInput<weightDxType, inputSizeDxType, gradOutputDxType, gradInputDxType> gradInput_;
    gradInput_.Init(&(tilingData->conv3DDxTiling));
    // [init]

    // [set]
    gradInput_.SetSingleShape(singleShapeM_, singleShapeK_, singleShapeN_); // Set the shape of single-core computation.
    gradInput_.SetStartPosition(dinStartIdx_, curHoStartIdx_); // Set the start position for loading gradOutput on the single core.
    gradInput_.SetGradOutput(gradOutputGm_[offsetA_]);
    gradInput_.SetWeight(weightGm_[offsetB_]); 
    // [set]

    // [iterate]
    while (gradInput_.Iterate()) {
        gradInput_.GetTensorC(gradInputGm_[offsetC_]); 
    }
    // [iterate]

    // [end]
    gradInput_.End();
    // [end]
  }
  // clang-format on

  const AscendC::tiling::Conv3DBackpropInputTilingData* tilingData;
  AscendC::GlobalTensor<weightType> weightGm_;
  AscendC::GlobalTensor<gradOutputType> gradOutputGm_;
  AscendC::GlobalTensor<gradInputType> gradInputGm_;
  uint64_t singleShapeM_ = 0, singleShapeK_ = 0, offsetA_ = 0, offsetB_ = 0, offsetC_ = 0;
  uint32_t singleShapeN_ = 0, dinStartIdx_ = 0;
  int32_t curHoStartIdx_ = 0;
};

template <class T>
__global__ __aicore__ void inputGradient(GM_ADDR weight, GM_ADDR gradOutput, GM_ADDR gradInput,
                                         const AscendC::tiling::Conv3DBackpropInputTilingData* tilingData) {
  InputGradientKernel<T, T, T>(weight, gradOutput, gradInput, tilingData).Process();
}
