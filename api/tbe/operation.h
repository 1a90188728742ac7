// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the calls of the DSL differ: the gradient, and how each spells its arguments. Leaves what they share, the rules, to
// call_rules.cpp.
#pragma once

#include <string_view>

#include "cubejit/problem.h"

namespace cubejit::tbe {

/// A call. Orders name a list's axes by letters: N (of filters: Cout), C (of filters: Cin / groups), D, H, W; a 2D one has no D.
struct Operation {
  const char* name;
  Pass pass;
  const char* first;  ///< the operand beside out_backprop: x of a filter's gradient, the filter of an input's
  const char* filterSize;
  std::string_view filterOrder;
  const char* inputSize;  ///< the argument that tells the input's extents: an input gradient's list, otherwise x
  std::string_view inputOrder;
  const char* pads;
  std::string_view strideOrder;  ///< of the long form; empty: there is none
  std::string_view dilationOrder;
  std::string_view result, otherResult;  ///< dtypes, the default first; empty: there is no other

  bool ofFilter() const { return pass == Pass::kDw; }
  bool flat() const { return filterOrder.find('D') == std::string_view::npos; }
  /// Axes of activations, C counting blocks; behind them C0.
  std::string_view activationOrder() const { return flat() ? "NCHW" : "NDCHW"; }
};

inline constexpr Operation kConv2dBackpropFilter{"conv2d_backprop_filter",
                                                 Pass::kDw,
                                                 "input_x",
                                                 "filter_sizes",
                                                 "NCHW",
                                                 "input_x",
                                                 "NCHW",
                                                 "padding",
                                                 "",
                                                 "NCHW",
                                                 "float32",
                                                 "float16"};
inline constexpr Operation kConv2dBackpropInput{"conv2d_backprop_input",
                                                Pass::kDx,
                                                "filters",
                                                "filter_sizes",
                                                "NCHW",
                                                "input_sizes",
                                                "NCHW",
                                                "padding",
                                                "",
                                                "NCHW",
                                                "float16",
                                                "float32"};
inline constexpr Operation kConv3dBackpropFilter{"conv3d_backprop_filter",
                                                 Pass::kDw,
                                                 "x",
                                                 "filter_size",
                                                 "NDCHW",
                                                 "x",
                                                 "NDCHW",
                                                 "pads",
                                                 "",
                                                 "NDCHW",
                                                 "float32",
                                                 "float16"};
inline constexpr Operation kConv3dBackpropInput{"conv3d_backprop_input",
                                                Pass::kDx,
                                                "filter",
                                                "filter_size",
                                                "NCDHW",
                                                "input_size",
                                                "NDHWC",
                                                "pads",
                                                "NDHWC",
                                                "NDHWC",
                                                "float16",
                                                ""};

}  // namespace cubejit::tbe
