// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a tiling class hands to the library: its setters' values and the machine, as one value; and what the library does
// with tilings: fill one, check one, read one back. Leaves planning to the library's planner. C++17.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cubejit/export.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "cubejit_ascendc/names.h"
#include "tiling/conv_backprop/conv3d_bp_filter_tilingdata.h"
#include "tiling/conv_backprop/conv3d_bp_input_tilingdata.h"

namespace cubejit::ascendc {

struct TensorNote {
  ConvCommonApi::TPosition position = ConvCommonApi::TPosition::GM;
  ConvCommonApi::ConvFormat format = ConvCommonApi::ConvFormat::NDC1HWC0;
  ConvCommonApi::ConvDtype dtype = ConvCommonApi::ConvDtype::FLOAT16;
};

/// Extents are in elements, -1 = not set; d, h, w in this order; pads front, back, up, down, left, right.
struct TilingRequest {
  cubejit::Machine machine;
  bool transpose = false;  ///< of the input gradient: no input shape was set, so it is inferred
  std::int64_t n = -1, cin = -1, cout = -1;
  std::array<std::int64_t, 3> in{-1, -1, -1}, out{-1, -1, -1}, kernel{-1, -1, -1};
  std::array<std::int64_t, 6> pads{};
  std::array<std::int64_t, 3> stride{1, 1, 1}, dilation{1, 1, 1}, outputPadding{};
  std::array<std::int64_t, 4> backpropPads{};  ///< up, down, left, right, as preset
  std::int64_t groups = 1;
  bool hf32 = false;
  bool forChip =
      false;  ///< in the conventions of the vendor's own tilings: CubeKernels::kVendor, singleCoreCin = baseN
  std::optional<cubejit::TilingPlan> plan;  ///< instead of a kept one or the planner's
  TensorNote weight{ConvCommonApi::TPosition::GM, ConvCommonApi::ConvFormat::FRACTAL_Z_3D,
                    ConvCommonApi::ConvDtype::FLOAT16};
  TensorNote input, gradOutput;
};

/// Fills a tiling from the request's plan, else from a pin or the fastest record of `cubejit tune --soc` that the kernel classes can
/// run (CUBEJIT_TUNE=off: neither), else from the planner's choice. Chosen tilings of dX have iterateOrder 1. 0, or -1 with every
/// broken rule in cubejit_last_error(); then nothing is written. `source`: where the plan came from, for people.
CUBEJIT_API std::int64_t fillInputTiling(const TilingRequest& request, AscendC::tiling::TConv3DBackpropInputTiling& out,
                                         std::string* source = nullptr) noexcept;
CUBEJIT_API std::int64_t fillFilterTiling(const TilingRequest& request,
                                          AscendC::tiling::Conv3DBackpropFilterTilingData& out,
                                          std::string* source = nullptr) noexcept;

/// Every rule that a tiling filled or changed by hand breaks on a machine, in the tiling's own field names: for buffers both byte
/// counts and the fields to change. Empty = it can be run.
CUBEJIT_API std::vector<std::string> checkTiling(const AscendC::tiling::TConv3DBackpropInputTiling& tiling,
                                                 const cubejit::Machine& machine);
CUBEJIT_API std::vector<std::string> checkTiling(const AscendC::tiling::TConv3DBpFilterTiling& tiling,
                                                 const cubejit::Machine& machine);

/// The whole struct around a filter gradient's tiling: the fields beside it follow from it and the chip.
CUBEJIT_API AscendC::tiling::Conv3DBackpropFilterTilingData filterDataOf(
    const AscendC::tiling::TConv3DBpFilterTiling& tiling, const cubejit::Machine& machine);

/// The problem and the plan a tiling stands for; tasks that reach beyond the tensor are cut to it. Precondition of planOf:
/// checkTiling found nothing.
CUBEJIT_API cubejit::Problem problemOf(const AscendC::tiling::TConv3DBackpropInputTiling& tiling);
CUBEJIT_API cubejit::Problem problemOf(const AscendC::tiling::TConv3DBpFilterTiling& tiling);
CUBEJIT_API cubejit::TilingPlan planOf(const AscendC::tiling::TConv3DBackpropInputTiling& tiling,
                                       const cubejit::Machine& machine);
CUBEJIT_API cubejit::TilingPlan planOf(const AscendC::tiling::TConv3DBpFilterTiling& tiling,
                                       const cubejit::Machine& machine);

/// Calls v(fieldName, field&) for every field of a tiling, in order.
template <class T, class Visitor>
void describeInputTiling(T& tiling, Visitor&& v) {
#define CUBEJIT_TILING_FIELD(type, name) v(#name, tiling.name);
#include "tiling/conv_backprop/conv3d_bp_input_tiling_fields.def"
#undef CUBEJIT_TILING_FIELD
}
template <class T, class Visitor>
void describeFilterTiling(T& tiling, Visitor&& v) {
#define CUBEJIT_TILING_FIELD(type, name) v(#name, tiling.name);
#include "tiling/conv_backprop/conv3d_bp_filter_tiling_fields.def"
#undef CUBEJIT_TILING_FIELD
}

}  // namespace cubejit::ascendc
