// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a pass on a chip is made of: a job, which does not change, and tasks, one SetSingleShape each.
// Leaves which tasks there are to gradient_tasks, what a core does for one to block_stream.
#pragma once

#include <cstdint>

#include "algorithms/cube/work.h"
#include "cubejit/machine.h"
#include "cubejit/plan.h"
#include "cubejit/problem.h"
#include "cubejit/result.h"

namespace cubejit {

/// The unchanging part of many tasks: which pass of which problem, tiled how. Made once; plain values.
struct CubeJob {
  Problem problem;
  TilingPlan plan;  ///< base blocks, steps, buffers, order; `cores` and `singleShape` are those of the whole pass
  Machine machine;
  CubeWork work;  ///< the matrix view: see algorithms/cube/work.h for M, K, N of both passes
};

/// One SetSingleShape with its start. Positions are within the pass's matrix view of one image, one real group and one depth:
///   dX: m = pixels hi*Wi+wi of one depth of dx; n = channels of dx in the real group; k = (channel of dy / c0, tap, channel % c0),
///       counted over all kernel depths, as SetSingleShape counts it.
///   dW: m = channels of the small tensor (Cout); k = pixels ho*Wo+wo of one depth of dy; n = (cin1, kh, kw, c0) of one kernel depth.
/// start + extent may reach beyond the matrix: what lies outside is cut off, but must then be the last task of that axis.
struct CoreTask {
  std::int64_t image = 0, group = 0;  ///< coordinates in the operands; 0 if the views are of one image or group
  std::int64_t depth = 0;             ///< dX: of dx (curDinStartIdx). dW: of dy (dout)
  std::int64_t tapDepth = 0;          ///< dW only: kd
  Mkn start;                          ///< dX: m = (curHoStartIdx + backpropPadUp) * Wi. dW: k = hoStartIdx * Wo
  Mkn extent;                         ///< singleShapeM, K, N in elements; n of dX is rounded up to c0
};

/// Checks problem, plan and machine together. The job of a plan of y is that of the adjoint's dx. Errors name every rule. plan.cube().cores is not looked at; tasks may have other extents than plan.cube().singleShape, and are checked when they begin.
Result<CubeJob> makeCubeJob(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                            CubeKernels kernels = CubeKernels::kOwn);

/// Channels of the big (or small) tensor in one group of the problem, and the first of a real group.
struct ChannelRange {
  std::int64_t ofGroup = 1, first = 0, count = 0;  ///< count: those of this real group that exist
};
ChannelRange channelsOf(const CubeJob& job, bool big, std::int64_t realGroup);

/// Channels that an activation's memory has of a real group's: behind the last, a layout in blocks has a whole one.
std::int64_t storedChannels(const IndexMap& map, const ChannelRange& range);

}  // namespace cubejit
