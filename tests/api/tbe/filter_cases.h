// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the calls of the DSL that its tests begin from.
#pragma once

#include <vector>

#include "cubejit_tbe/conv3d_backprop_filter.h"

namespace cubejit::tbe {

struct FilterCase {
  Tensor x, dy;
  std::vector<std::int64_t> filter;
  ParaDict para;
  Result<ResTensor> call() const { return conv3d_backprop_filter(x, dy, filter, para); }
};

/// The example of the DSL's document.
inline FilterCase documentedCase() {
  FilterCase c{
      placeholder({16, 8, 1, 72, 72, 16}, "fmap"), placeholder({16, 4, 1, 36, 36, 16}, "dedy"), {16, 2, 16, 3, 3}, {}};
  c.para.strides = {2, 2, 2};
  c.para.pads = {0, 0, 0, 1, 0, 1};
  c.para.dilations = {1, 1, 1, 1, 1};
  c.para.kernel_name = "dedw";
  c.para.group_dict = GroupDict{1, 1, 1, 16, 16, 16};
  return c;
}

/// A small convolution with groups, asymmetric padding, strides and dilation.
inline FilterCase groupedCase(std::int64_t cin, std::int64_t cout, std::int64_t groups) {
  FilterCase c{placeholder({2, 4, (cin + 15) / 16, 6, 7, 16}, "x"),
               placeholder({2, 4, (cout + 15) / 16, 3, 4, 16}, "dy"),
               {cout, 2, cin / groups, 3, 2},
               {}};
  c.para.strides = {1, 2, 2};
  c.para.pads = {1, 0, 1, 0, 1, 1};
  c.para.dilations = {1, 1, 2};
  c.para.groups = groups;
  return c;
}

}  // namespace cubejit::tbe
