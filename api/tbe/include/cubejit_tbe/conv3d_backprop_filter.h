// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the DSL's call in C++: placeholders in, the description of the weight gradient out, every rule of the DSL checked.
// Leaves computing it to cubejit_tbe/operator.h. C++17; nothing throws. Names of the call and of its keys are the DSL's own.
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

/// What a result with several groups in a real group holds where input and output channel belong to different groups.
enum class GroupResult : std::uint8_t {
  kMasked,  ///< zeros: what is left is the gradient
  kRaw      ///< the products of those channels, as the NPU's cube leaves them for a later pass to mask
};
constexpr const char* toString(GroupResult r) { return r == GroupResult::kMasked ? "masked" : "raw"; }

struct ParaDict {
  std::vector<std::int64_t> strides;  ///< D, H, W
  std::vector<std::int64_t> pads;     ///< front, back, up, down, left, right
  std::vector<std::int64_t> dilations{1, 1,
                                      1};  ///< D, H, W or N, D, C, H, W with N and C = 1 (positions of filter_size)
  std::string res_dtype = "float32";       ///< or "float16"
  std::string kernel_name = "conv3d_backprop_filter_cce";
  std::optional<GroupDict> group_dict;  ///< unset: groupDict(filter_size[2] * groups, filter_size[0], groups)
  // Beyond the DSL:
  std::int64_t groups = 1;  ///< looked at if group_dict is not set; otherwise groups = cin_ori / filter_size[2]
  GroupResult group_result = GroupResult::kMasked;
  /// The part whose L1 must hold the smallest tile, see machineNames(); empty: none.
  std::string soc = "ascend910a";
};

/// The call's result: what is to be computed. A value; build() in operator.h makes it runnable.
///
/// Its array is FRACTAL_Z_3D: shape (real_g * Kd * cin1_g * Kh * Kw, cout_g / 16, 16, 16), outermost first over
/// (real group, kd, cin1, kh, kw), cout1, cout0, cin0.
struct ResTensor {
  Tensor tensor;
  Tensor x, out_backprop;  ///< the placeholders it depends on
  Problem problem;         ///< what is solved; raw: a convolution whose groups are the real groups
  GroupDict group_dict;
  std::int64_t groups = 1;
  GroupResult group_result = GroupResult::kMasked;
};

/// The weight gradient of a 3D convolution.
/// x: float16 NDC1HWC0 (N, D, C1, H, W, 16). out_backprop: float16 NDC1HWC0 (N, Do, Co1, Ho, Wo, 16).
/// filter_size: Cout, Kd, Cin / groups, Kh, Kw.
/// Fails with kInvalidProblem, every broken rule of the DSL on a line of its own; kUnsupported for an unknown soc;
/// kNoFeasiblePlan if the part's buffers cannot hold the smallest tile. Pure; may be called from many threads.
CUBEJIT_API Result<ResTensor> conv3d_backprop_filter(const Tensor& x, const Tensor& out_backprop,
                                                     const std::vector<std::int64_t>& filter_size,
                                                     const ParaDict& para_dict);

}  // namespace cubejit::tbe
