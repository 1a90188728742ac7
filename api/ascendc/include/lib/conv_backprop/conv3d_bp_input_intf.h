// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the documented class of an input gradient on one core. Leaves the work to the library, which emulates the core. C++17.
//
// The order of calls: Init; the setters; while (Iterate()) GetTensorC(output); for another single shape ctx.isFirstIter_ = true,
// the setters and the loop again; End, once. What breaks the order, or reaches outside a tensor or a buffer, is reported by the
// launcher with core, block and rule (without a launcher: in cubejit_last_error()), and does nothing else.
#pragma once

#include "cubejit_ascendc/gradient_on_core.h"
#include "lib/conv_backprop/conv3d_bp_input_config.h"

namespace ConvBackpropApi {

using AscendC::tiling::TConv3DBackpropInputTiling;

/// How the interface reaches the library, and what an object keeps.
template <typename Intf, class Config_>
struct Conv3DBpInputImpl {
  struct ContextData {
    /// Set it to true before another single shape.
    bool isFirstIter_ = true;
    cubejit::ascendc::GradientOnCore core_{cubejit::ascendc::GradientTypes{
        cubejit::Pass::kDx, cubejit::ascendc::kDTypeOf<typename Config_::SrcT>,
        cubejit::ascendc::kDTypeOf<typename Config_::DstT>,
        Config_::formatD == ConvCommonApi::ConvFormat::NCDHW ? cubejit::Layout::kNcdhw : cubejit::Layout::kNdc1hwc0}};
  };
};

template <class Config_, template <typename, class> class Impl>
struct Conv3DBpInputIntf {
  using Config = Config_;
  using Ext = Impl<Conv3DBpInputIntf, Config>;
  using SrcT = typename Config::SrcT;
  using DstT = typename Config::DstT;
  using L0cT = typename Config::L0cT;
  using ContextData = typename Ext::ContextData;
  constexpr static Conv3dConfig conv3dConfig = Config::conv3dConfig;

  ContextData ctx;

  /// First and once. The tiling is checked against the chip, by hand or not, and copied.
  __aicore__ inline void Init(const TConv3DBackpropInputTiling* __restrict tiling) {
    ctx.core_.init(tiling, ctx.isFirstIter_);
  }
  /// FRACTAL_Z_3D; begins at this core's group and channels of the input.
  __aicore__ inline void SetWeight(const AscendC::GlobalTensor<SrcT>& weight) {
    ctx.core_.setOperand(cubejit::ascendc::GradientOnCore::Operand::kWeight, weight.range(), ctx.isFirstIter_);
  }
  /// NDC1HWC0; begins at this core's image, group, channels and first row that exists (row max(0, ceil(curHoStartIdx / strideH))),
  /// at depth 0.
  __aicore__ inline void SetGradOutput(const AscendC::GlobalTensor<SrcT>& gradOutput) {
    ctx.core_.setOperand(cubejit::ascendc::GradientOnCore::Operand::kGradOutput, gradOutput.range(), ctx.isFirstIter_);
  }
  /// Elements: M = whole rows of one depth of gradInput; K = blocks of gradOutput's channels x c0 x all taps; N = channels of
  /// gradInput.
  __aicore__ inline void SetSingleShape(uint64_t singleShapeM, uint64_t singleShapeK, uint32_t singleShapeN) {
    ctx.core_.setSingleShape(singleShapeM, singleShapeK, singleShapeN, ctx.isFirstIter_);
  }
  /// The depth of gradInput, and its first row - backpropPadUp; the latter may be negative.
  __aicore__ inline void SetStartPosition(uint32_t curDinStartIdx, int32_t curHoStartIdx) {
    ctx.core_.setStartPosition(curDinStartIdx, curHoStartIdx, ctx.isFirstIter_);
  }
  /// Computes the next block of baseM x baseN (tails at the end of each axis), m fastest when iterateOrder is 1. False when there
  /// is none. `enPartialSum` is reserved: it does nothing.
  template <bool sync = true>
  __aicore__ inline bool Iterate(bool enPartialSum = false) {
    static_cast<void>(enPartialSum);
    return ctx.core_.iterate(ctx.isFirstIter_);
  }
  /// Writes the block, once after each Iterate. `output` begins at this core's image, group, channels and rows, at depth 0.
  /// `enAtomic` 1 adds to what is there. `enSequentialWrite` writes nothing and keeps the block. A block that receives nothing is
  /// not written: where initOutputFlag is 1, zero gradInput first.
  template <bool sync = true>
  __aicore__ inline void GetTensorC(const AscendC::GlobalTensor<DstT>& output, uint8_t enAtomic = 0,
                                    bool enSequentialWrite = false) {
    ctx.core_.tensorC(output.range(), enAtomic, enSequentialWrite, ctx.isFirstIter_);
  }
  /// Last and once.
  __aicore__ inline void End() { ctx.core_.end(ctx.isFirstIter_); }
};

}  // namespace ConvBackpropApi
