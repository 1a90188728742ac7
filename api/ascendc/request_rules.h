// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the documented rules of the two tiling classes. Leaves limits of buffers to the planner.
#pragma once

#include <string>
#include <vector>

#include "cubejit_ascendc/tiling_request.h"

namespace cubejit::ascendc {

/// Rules a request for an input gradient breaks, in the documented order of checks. Input extents are inferred where none are set.
std::vector<std::string> inputRules(TilingRequest& request);

/// Rules a request for a filter gradient breaks. Whether extents follow from one another is not asked: the documented class accepts
/// what does not.
std::vector<std::string> filterRules(const TilingRequest& request);

/// The library's type of a documented one, hf32 where asked for; false if a cube cannot multiply it.
bool dtypeOf(ConvCommonApi::ConvDtype dtype, bool hf32, DType& out);
const char* nameOf(ConvCommonApi::ConvDtype dtype);

}  // namespace cubejit::ascendc
