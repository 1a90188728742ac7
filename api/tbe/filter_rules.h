// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the rules of the DSL's call are. Leaves what is made of a legal call to conv3d_backprop_filter.cpp.
#pragma once

#include <string>
#include <vector>

#include "cubejit_tbe/conv3d_backprop_filter.h"

namespace cubejit::tbe {

/// The call as numbers, meaningful if no rule is broken.
struct FilterCall {
  Dhw stride, dilation, padBefore, padAfter;
  GroupDict group_dict;
  std::int64_t groups = 1;
};

struct FilterRules {
  FilterCall call;
  std::vector<std::string> broken;
};

FilterRules checkFilterCall(const Tensor& x, const Tensor& out_backprop, const std::vector<std::int64_t>& filter_size,
                            const ParaDict& para_dict);

}  // namespace cubejit::tbe
