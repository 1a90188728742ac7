// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the DSL's calls in C++: placeholders in, the description of a gradient out, every rule of the DSL checked.
// Leaves computing it to cubejit_tbe/operator.h. C++17; nothing throws. Names of calls and of their keys are the DSL's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cubejit/export.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"
#include "cubejit_tbe/group_dict.h"

namespace cubejit::tbe {

/// What stands for an array while a graph is built: its shape, its type and a name.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::string dtype;  ///< "float16" or "float32"
  std::string name;
};

inline Tensor placeholder(std::vector<std::int64_t> shape, std::string name = "placeholder",
                          std::string dtype = "float16") {
  return Tensor{std::move(shape), std::move(dtype), std::move(name)};
}

/// What a filter's gradient with several groups in a real group holds where input and output channel belong to different groups.
enum class GroupResult : std::uint8_t {
  kMasked,  ///< zeros: what is left is the gradient
  kRaw      ///< the products of those channels, as the NPU's cube leaves them for a later pass to mask
};
constexpr const char* toString(GroupResult r) { return r == GroupResult::kMasked ? "masked" : "raw"; }

/// Lists are short, the axes (D,) H, W alone, or long, with N and C, whose values then must be 1.
struct ParaDict {
  std::vector<std::int64_t> strides;  ///< long of conv3d_backprop_input alone: N, D, H, W, C
  std::vector<std::int64_t> pads;     ///< (front, back,) up, down, left, right; 2D calls name them padding
  std::vector<std::int64_t>
      dilations;  ///< unset: 1. Long in 2D: N, C, H, W; in 3D filter: N, D, C, H, W, input: N, D, H, W, C
  std::optional<std::string> res_dtype;    ///< unset: "float32" of filter gradients, "float16" of input gradients
  std::optional<std::string> kernel_name;  ///< unset: the call's name and "_cce"
  std::optional<GroupDict> group_dict;     ///< unset: the formula's
  std::optional<ExtendDict> extend_dict;   ///< the same as conv2d_backprop_input spells it
  std::int64_t groups = 1;                 ///< looked at if neither is set; otherwise groups are what they imply
  std::int64_t offset_x = 0;               ///< must be 0, and
  std::optional<std::int64_t> offset_w;    ///< unset: float16 has no quantisation
  // Beyond the DSL:
  GroupResult group_result = GroupResult::kMasked;
  /// The part whose L1 must hold the smallest tile, see machineNames(); empty: none.
  std::string soc = "ascend910a";
};

/// A call's result: what is to be computed. A value; build() in operator.h makes it runnable.
///
/// A filter's gradient is FRACTAL_Z_3D (2D: FRACTAL_Z, its case Kd = 1): shape (real_g * Kd * cin1_g * Kh * Kw, cout_g / 16, 16, 16),
/// outermost first over (real group, kd, cin1, kh, kw), cout1, cout0, cin0. An input's gradient is NDC1HWC0 (NC1HWC0).
struct ResTensor {
  Tensor tensor;
  Pass pass = Pass::kDw;
  Tensor first,
      out_backprop;  ///< the placeholders it depends on; first: x of a filter's gradient, the filter of an input's
  Problem problem;   ///< what is solved; raw: a convolution whose groups are the real groups
  GroupDict group_dict;
  std::int64_t groups = 1;
  GroupResult group_result = GroupResult::kMasked;
};

// Each call: activations are float16 NDC1HWC0 (N, D, C1, H, W, 16), in 2D NC1HWC0 (N, C1, H, W, 16); filters are float16 of the shape
// of a filter's gradient, and what they hold between groups and beyond the channels is not looked at. The gradient of an input is
// zero beyond its channels.
// Fails with kInvalidProblem, every broken rule of the DSL on a line of its own; kUnsupported for an unknown soc;
// kNoFeasiblePlan if the part's buffers cannot hold the smallest tile. Pure; may be called from many threads.

/// The filter's gradient in 2D. filter_sizes: Cout, Cin / groups, Kh, Kw. res_dtype: float32 or float16.
CUBEJIT_API Result<ResTensor> conv2d_backprop_filter(const Tensor& input_x, const Tensor& out_backprop,
                                                     const std::vector<std::int64_t>& filter_sizes,
                                                     const ParaDict& para_dict);

/// The input's gradient in 2D. filter_sizes as above; input_sizes: N, Cin, H, W. res_dtype: float16 or float32.
CUBEJIT_API Result<ResTensor> conv2d_backprop_input(const Tensor& filters, const Tensor& out_backprop,
                                                    const std::vector<std::int64_t>& filter_sizes,
                                                    const std::vector<std::int64_t>& input_sizes,
                                                    const ParaDict& para_dict);

/// The filter's gradient in 3D. filter_size: Cout, Kd, Cin / groups, Kh, Kw. res_dtype: float32 or float16.
CUBEJIT_API Result<ResTensor> conv3d_backprop_filter(const Tensor& x, const Tensor& out_backprop,
                                                     const std::vector<std::int64_t>& filter_size,
                                                     const ParaDict& para_dict);

/// The input's gradient in 3D. filter_size: Cout, Cin / groups, Kd, Kh, Kw; input_size: N, D, H, W, Cin. res_dtype: float16.
CUBEJIT_API Result<ResTensor> conv3d_backprop_input(const Tensor& filter, const Tensor& out_backprop,
                                                    const std::vector<std::int64_t>& filter_size,
                                                    const std::vector<std::int64_t>& input_size,
                                                    const ParaDict& para_dict);

}  // namespace cubejit::tbe
