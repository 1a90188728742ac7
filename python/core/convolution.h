// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which Problem a convolution of PyTorch's vocabulary is. Leaves types and layouts to its callers, rules of extents to
// the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cubejit/problem.h"

namespace cubejit::python {

/// One value for all axes, or one for each.
using IntOrList = std::variant<std::int64_t, std::vector<std::int64_t>>;

/// As aten::convolution_backward has them. `padding` may also have two values for each axis: before, after, before, after ...
struct ConvolutionArguments {
  IntOrList stride = 1, padding = 0, dilation = 1, outputPadding = 0;
  bool transposed = false;
  std::int64_t groups = 1;
};

using Shape = std::vector<std::int64_t>;

/// "2, 3, 4".
std::string listText(const Shape& values);

/// The problem of x (N, Cin, spatial...) and w (Cout, Cin / groups, spatial...; transposed: Cin, Cout / groups, spatial...).
/// If dy is given, its shape must be what the others imply. Throws Failure with every broken rule.
Problem problemOf(const Shape& x, const Shape& w, const std::optional<Shape>& dy,
                  const ConvolutionArguments& arguments);

}  // namespace cubejit::python
