// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how plans and tilings stand for each other, and the values of a tiling that follow from the problem alone. Leaves
// choosing a plan to the planner.
#pragma once

#include "cubejit_ascendc/tiling_request.h"

namespace cubejit::ascendc {

/// The problem a request asks about. Precondition: its rules hold.
Problem problemOf(const TilingRequest& request);

/// Fields that follow from the problem: extents, pads of the adjoint, flags. `type` is what the cube multiplies.
void setProblemFields(AscendC::tiling::TConv3DBackpropInputTiling& tiling, const Problem& problem, DType type);
void setProblemFields(AscendC::tiling::TConv3DBpFilterTiling& tiling, const Problem& problem, DType type);

/// Fields that are a plan's.
void setPlanFields(AscendC::tiling::TConv3DBackpropInputTiling& tiling, const TilingPlan& plan);
void setPlanFields(AscendC::tiling::TConv3DBpFilterTiling& tiling, const TilingPlan& plan);

/// Whether every field is 0, as in a struct that nobody filled.
bool isUnfilled(const AscendC::tiling::TConv3DBackpropInputTiling& tiling);
bool isUnfilled(const AscendC::tiling::TConv3DBpFilterTiling& tiling);

/// 1 if blocks of the input gradient may receive nothing, so that it must be zeroed first.
std::int32_t initOutputFlagOf(const Problem& problem, bool transpose);

}  // namespace cubejit::ascendc
