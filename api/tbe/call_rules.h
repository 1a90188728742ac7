// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the rules of the DSL's calls are. Leaves what is made of a legal call to conv_backprop.cpp.
#pragma once

#include <string>
#include <vector>

#include "api/tbe/operation.h"
#include "cubejit_tbe/conv_backprop.h"

namespace cubejit::tbe {

/// A call as it is made; inputSize is empty for a filter's gradient.
struct Call {
  const Tensor &first, &out_backprop;
  const std::vector<std::int64_t>&filterSize, &inputSize;
  const ParaDict& para;
};

/// The call as numbers, meaningful if no rule is broken. Axes a 2D call has not are 1, their paddings 0.
struct CallNumbers {
  std::int64_t batch = 1;
  Dhw in, kernel, out, stride, dilation, padBefore{0, 0, 0}, padAfter{0, 0, 0};
  GroupDict group_dict;
  std::int64_t groups = 1;
  std::string resDtype, kernelName;
};

struct CallRules {
  CallNumbers call;
  std::vector<std::string> broken;
};

CallRules checkCall(const Operation& operation, const Call& call);

/// The shape of a FRACTAL_Z_3D filter whose real groups are these.
std::vector<std::int64_t> filterShape(const GroupDict& groups, const Dhw& kernel);

}  // namespace cubejit::tbe
