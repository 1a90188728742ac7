// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the calls of the DSL that its tests begin from.
#pragma once

#include <vector>

#include "cubejit_tbe/conv_backprop.h"

namespace cubejit::tbe {

/// A call, whichever of the four; `input` is of input gradients.
struct Case {
  bool ofFilter = true, flat = false;
  Tensor first, dy;
  std::vector<std::int64_t> filter, input;
  ParaDict para;
  Result<ResTensor> call() const {
    if (ofFilter) return (flat ? conv2d_backprop_filter : conv3d_backprop_filter)(first, dy, filter, para);
    return (flat ? conv2d_backprop_input : conv3d_backprop_input)(first, dy, filter, input, para);
  }
};

/// The documents' examples.
inline Case documentedFilter() {
  Case c;
  c.first = placeholder({16, 8, 1, 72, 72, 16}, "fmap");
  c.dy = placeholder({16, 4, 1, 36, 36, 16}, "dedy");
  c.filter = {16, 2, 16, 3, 3};
  c.para.strides = {2, 2, 2};
  c.para.pads = {0, 0, 0, 1, 0, 1};
  c.para.dilations = {1, 1, 1, 1, 1};
  c.para.kernel_name = "dedw";
  c.para.group_dict = GroupDict{1, 1, 1, 16, 16, 16};
  return c;
}
inline Case documentedInput() {
  Case c;
  c.ofFilter = false;
  c.first = placeholder({64, 16, 16, 16}, "filter");
  c.dy = placeholder({1, 2, 16, 15, 22, 16}, "dedy");
  c.filter = {256, 128, 2, 2, 2};
  c.input = {1, 4, 30, 44, 128};
  c.para.strides = {1, 2, 2, 2, 1};
  c.para.pads.assign(6, 0);
  c.para.dilations.assign(5, 1);
  c.para.group_dict = GroupDict{1, 1, 8, 256, 128, 256};
  return c;
}
inline Case documentedFlatInput() {
  Case c;
  c.ofFilter = false, c.flat = true;
  c.first = placeholder({1, 1, 16, 16}, "filters");
  c.dy = placeholder({1, 1, 7, 7, 16}, "out_backprop");
  c.filter = {16, 16, 1, 1};
  c.input = {1, 16, 7, 7};
  c.para.strides = {1, 1};
  c.para.pads.assign(4, 0);
  c.para.dilations.assign(4, 1);
  c.para.res_dtype = "float32";
  c.para.extend_dict = ExtendDict{1, 1, 1, 1, 1, 16, 16, 16, 16};
  return c;
}

/// A small convolution with groups, asymmetric padding, strides and dilation.
inline Case groupedCase(std::int64_t cin, std::int64_t cout, std::int64_t groups, bool ofFilter = true,
                        bool flat = false) {
  const std::int64_t inner = cin / groups;
  Case c;
  c.ofFilter = ofFilter, c.flat = flat;
  c.dy = placeholder({2, 4, (cout + 15) / 16, 3, 4, 16}, "dy");
  c.para.strides = {1, 2, 2};
  c.para.pads = {1, 0, 1, 0, 1, 1};
  c.para.dilations = {1, 1, 2};
  c.para.groups = groups;
  if (ofFilter) {
    c.first = placeholder({2, 4, (cin + 15) / 16, 6, 7, 16}, "x");
    c.filter = {cout, 2, inner, 3, 2};
  } else {
    const GroupDict g = *groupDict(cin, cout, groups);
    c.first = placeholder({g.real_g * g.cin1_g * (flat ? 6 : 12), g.cout_g / 16, 16, 16}, "w");
    c.filter = {cout, inner, 2, 3, 2};
    c.input = {2, 4, 6, 7, cin};
  }
  if (!flat) return c;
  for (Tensor* t : {&c.dy, &c.first})
    if (t->shape.size() == 6) t->shape.erase(t->shape.begin() + 1);
  c.para.strides.erase(c.para.strides.begin());
  c.para.pads.erase(c.para.pads.begin(), c.para.pads.begin() + 2);
  c.para.dilations.erase(c.para.dilations.begin());
  c.filter = {cout, inner, 3, 2};
  if (!ofFilter) c.input = {2, cin, 6, 7};
  return c;
}

}  // namespace cubejit::tbe
