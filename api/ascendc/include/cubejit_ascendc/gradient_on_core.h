// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the way from the documented class templates into the library: one gradient object on one core, without templates.
// Leaves spelling to the classes, chips and faults to the core it runs on. C++17.
#pragma once

#include <cstdint>
#include <memory>

#include "cubejit/dtype.h"
#include "cubejit/export.h"
#include "cubejit/layout.h"
#include "cubejit/problem.h"
#include "cubejit_ascendc/core.h"
#include "tiling/conv_backprop/conv3d_bp_filter_tilingdata.h"
#include "tiling/conv_backprop/conv3d_bp_input_tilingdata.h"

namespace cubejit::ascendc {

/// What a class' template arguments say.
struct GradientTypes {
  Pass pass = Pass::kDx;
  DType operand = DType::kF16;  ///< of both operands
  DType result = DType::kF16;
  Layout resultLayout = Layout::kNdc1hwc0;  ///< dX: kNdc1hwc0 or kNcdhw; dW: kFractalZ3d
};

/// One object's life: init, setters, iterate and tensorC in turn, end. A call out of order, and anything that would reach
/// outside a tensor or a buffer, is reported with core, block and rule, and does nothing else; then iterate() returns false.
/// `first` is the object's ctx.isFirstIter_: true = the next iterate() begins a single shape. Not thread-safe; objects are
/// independent of each other.
class GradientOnCore {
 public:
  enum class Operand : std::uint8_t { kWeight, kInput, kGradOutput };

  CUBEJIT_API explicit GradientOnCore(const GradientTypes& types) noexcept;
  /// Reports an object that was not ended.
  CUBEJIT_API ~GradientOnCore();
  GradientOnCore(const GradientOnCore&) = delete;
  GradientOnCore& operator=(const GradientOnCore&) = delete;

  /// Copies the tiling, after checking it against the core's chip.
  CUBEJIT_API void init(const AscendC::tiling::TConv3DBackpropInputTiling* tiling, bool& first) noexcept;
  CUBEJIT_API void init(const AscendC::tiling::TConv3DBpFilterTiling* tiling, bool& first) noexcept;
  CUBEJIT_API void setOperand(Operand operand, const GlobalRange& range, bool& first) noexcept;
  /// M, K, N are named: dX passes (m, k, n), dW was given (m, n, k).
  CUBEJIT_API void setSingleShape(std::uint64_t m, std::uint64_t k, std::uint64_t n, bool& first) noexcept;
  /// dX: depth of gradInput and row of the spread gradOutput; dW: row of gradOutput, depth 0.
  CUBEJIT_API void setStartPosition(std::uint32_t depth, std::int64_t row, bool& first) noexcept;
  CUBEJIT_API bool iterate(bool& first) noexcept;
  CUBEJIT_API void tensorC(const GlobalRange& output, std::uint8_t atomic, bool sequential, bool& first) noexcept;
  CUBEJIT_API void end(bool& first) noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;  ///< null: there was no memory for it, and every call reports that
};

}  // namespace cubejit::ascendc
