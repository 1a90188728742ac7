// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the documented class of a filter gradient on one core. Leaves the work to the library, which emulates the core. C++17.
//
// The order of calls is that of Conv3DBpInputIntf. One single shape is one image, one depth of gradOutput, one depth of the kernel
// and one group; the caller loops over them, skips depths that do not meet (din = dout x strideD - padFront + kd x dilationD
// outside the input), and zeroes gradWeight before the first, because GetTensorC adds.
#pragma once

#include "cubejit_ascendc/gradient_on_core.h"
#include "lib/conv_backprop/conv3d_bp_filter_config.h"

namespace ConvBackpropApi {

using AscendC::tiling::TConv3DBpFilterTiling;

/// How the interface reaches the library, and what an object keeps.
template <typename Intf, class Config_>
struct Conv3DBpFilterImpl {
  struct ContextData {
    /// Set it to true before another single shape.
    bool isFirstIter_ = true;
    cubejit::ascendc::GradientOnCore core_{cubejit::ascendc::GradientTypes{
        cubejit::Pass::kDw, cubejit::ascendc::kDTypeOf<typename Config_::SrcT>,
        cubejit::ascendc::kDTypeOf<typename Config_::DstT>, cubejit::Layout::kFractalZ3d}};
  };
};

template <class Config_, template <typename, class> class Impl>
struct Conv3DBpFilterIntf {
  using Config = Config_;
  using Ext = Impl<Conv3DBpFilterIntf, Config>;
  using SrcT = typename Config::SrcT;
  using DstT = typename Config::DstT;
  using L0cT = typename Config::L0cT;
  using ContextData = typename Ext::ContextData;

  ContextData ctx;

  /// First and once. The tiling is checked against the chip, by hand or not, and copied.
  __aicore__ inline void Init(const TConv3DBpFilterTiling* __restrict tiling) {
    ctx.core_.init(tiling, ctx.isFirstIter_);
  }
  /// NDC1HWC0; begins at this core's image, depth, group, channels and first row that exists, max(0, hoStartIdx x strideH -
  /// padUp).
  __aicore__ inline void SetInput(const AscendC::GlobalTensor<SrcT>& input) {
    ctx.core_.setOperand(cubejit::ascendc::GradientOnCore::Operand::kInput, input.range(), ctx.isFirstIter_);
  }
  /// NDC1HWC0; begins at this core's image, depth, group, channels and row hoStartIdx.
  __aicore__ inline void SetGradOutput(const AscendC::GlobalTensor<SrcT>& gradOutput) {
    ctx.core_.setOperand(cubejit::ascendc::GradientOnCore::Operand::kGradOutput, gradOutput.range(), ctx.isFirstIter_);
  }
  /// Elements, N before K: M = channels of gradOutput; N = channels of the input x taps of one depth; K = rows of gradOutput x wo,
  /// what does not fill a row is dropped.
  __aicore__ inline void SetSingleShape(uint64_t singleCoreM, uint64_t singleCoreN, uint64_t singleCoreK) {
    ctx.core_.setSingleShape(singleCoreM, singleCoreK, singleCoreN, ctx.isFirstIter_);
  }
  /// The first row of gradOutput.
  __aicore__ inline void SetStartPosition(uint32_t hoStartIdx) {
    ctx.core_.setStartPosition(0, hoStartIdx, ctx.isFirstIter_);
  }
  /// Computes the next block of baseM x baseN (tails at the end of each axis). False when there is none.
  template <bool sync = true>
  __aicore__ inline bool Iterate(bool enPartialSum = false) {
    static_cast<void>(enPartialSum);
    return ctx.core_.iterate(ctx.isFirstIter_);
  }
  /// Adds the block to FRACTAL_Z_3D, once after each Iterate; `enAtomic` other than 1 overwrites. `output` begins at the group, the
  /// kernel's depth and this core's channels. `enSequentialWrite` writes the block by itself at output[0], baseM rows a panel.
  /// Where groups share blocks of channels only products within a group are written, unless a block is written by itself.
  template <bool sync = true>
  __aicore__ inline void GetTensorC(const AscendC::GlobalTensor<DstT>& output, uint8_t enAtomic = 1,
                                    bool enSequentialWrite = false) {
    ctx.core_.tensorC(output.range(), enAtomic, enSequentialWrite, ctx.isFirstIter_);
  }
  /// Last and once.
  __aicore__ inline void End() { ctx.core_.end(ctx.isFirstIter_); }
};

}  // namespace ConvBackpropApi
