// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the form of a tiling: every choice the generator needs beyond the problem itself, as one plain value.
// A plan is enumerated and checked by tiling/, lowered by codegen/, and may be written by hand.
#pragma once

#include <cstdint>
#include <string>

#include "cubejit/problem.h"

namespace cubejit {

/// What the lanes of a vector register stand for.
enum class LaneRole : std::uint8_t {
  kChannels,  ///< consecutive channels of the result (dX: its channels; dW: channels of the strided-over tensor)
  kPixels,    ///< dX only: consecutive pixels along W of one residue class; channels are accumulator rows
  kSwapped,   ///< dW only: channels of the other tensor; (taps x channels) are accumulator rows
  kGroupCells,  ///< several small groups side by side; multiply-accumulates are lane-wise (depthwise and few channels a group)
  kReduced  ///< dX only, few result channels: channels of dY, summed across lanes at the end
};
constexpr const char* toString(LaneRole r) {
  return r == LaneRole::kChannels  ? "channels"
         : r == LaneRole::kPixels  ? "pixels"
         : r == LaneRole::kSwapped ? "swapped"
         : r == LaneRole::kReduced ? "reduced"
                                   : "group_cells";
}

/// Which loop is outside within a core: over pixels (weights reused from cache) or over result channels (pixels reused).
enum class IterateOrder : std::uint8_t { kPixelsOuter, kChannelsOuter };
constexpr const char* toString(IterateOrder o) {
  return o == IterateOrder::kPixelsOuter ? "pixels_outer" : "channels_outer";
}

struct Mkn {
  std::int64_t m = 0, k = 0, n = 0;
  friend bool operator==(const Mkn& a, const Mkn& b) { return a.m == b.m && a.k == b.k && a.n == b.n; }
};

/// How the work is cut into tasks. The product is the number of tasks; threads take tasks, so any thread count works.
struct CoreSplit {
  std::int64_t batch = 1, groups = 1, depth = 1, rows = 1, channelsM = 1, channelsN = 1;
  std::int64_t reduction =
      1;  ///< dW, db: pixel ranges summed apart, then combined in order; fixed by the plan, not by threads
};

/// One tiling of one gradient on the host.
///
/// GEMM view: dX: M = pixels, K = reduced channels x taps, N = result channels. dW: M = rows x taps, K = pixels, N = lane channels.
struct TilingPlan {
  Gradient gradient = Gradient::kDx;
  LaneRole lanes = LaneRole::kChannels;
  IterateOrder order = IterateOrder::kPixelsOuter;
  CoreSplit cores;
  Mkn singleShape;  ///< extent a task works on, in the GEMM view
  // Base block = the accumulators held in registers.
  std::int64_t baseBatch = 1, baseD = 1, baseH = 1, baseW = 1;  ///< dX: box of result pixels; rows = their product
  std::int64_t baseRows = 1;                  ///< dW: accumulator rows (channels); kPixels: result channels
  std::int64_t baseTapsW = 1, baseTapsH = 1;  ///< dW: taps held at once
  std::int64_t baseVectors = 1;               ///< vectors side by side
  std::int64_t unroll = 4;                    ///< reduction steps per loop iteration (stepK)
  // L1 step: what is staged in the private panels of a thread.
  bool panelA = false;  ///< operand dY (dX) or the row operand (dW) is transposed into a channels-last / pixel panel
  /// dW: the lane operand is transposed into a panel; dX with pixel lanes: dY into [channel][pixel]; dX with channel lanes:
  /// each task packs its block of weights into a panel of its own.
  bool panelB = false;
  bool panelC = false;  ///< results are built in a panel and moved out (dW: accumulators private to a task)
  bool packWeights =
      true;  ///< dX: weights are copied into lane order first; false reads them in place (1x1 kernels only)
  std::int64_t panelD = 1,
               panelH = 1;  ///< result rows per panel (dX); pixel rows per reduction step (dW: reduced rows)
  bool streamingStore = false;
  bool dotProducts = false;  ///< pairs of bf16 are multiplied by dot products: of channels (dX) or of pixels (dW)
  // Tensors converted as a whole into (or, the result, out of) f32 in the workspace, because the lowering does not read them
  // as they are. coreProblem() is what is left to solve.
  bool stageDy = false, stageX = false, stageW = false, stageResult = false;
};

/// Calls v(fieldName, field&) for every field; printing, JSON, hashing and comparison are written against it.
template <class P, class Visitor>
void describePlan(P& p, Visitor&& v) {
  v("gradient", p.gradient);
  v("lanes", p.lanes);
  v("order", p.order);
  v("core_batch", p.cores.batch);
  v("core_groups", p.cores.groups);
  v("core_depth", p.cores.depth);
  v("core_rows", p.cores.rows);
  v("core_channels_m", p.cores.channelsM);
  v("core_channels_n", p.cores.channelsN);
  v("core_reduction", p.cores.reduction);
  v("single_shape_m", p.singleShape.m);
  v("single_shape_k", p.singleShape.k);
  v("single_shape_n", p.singleShape.n);
  v("base_batch", p.baseBatch);
  v("base_d", p.baseD);
  v("base_h", p.baseH);
  v("base_w", p.baseW);
  v("base_rows", p.baseRows);
  v("base_taps_w", p.baseTapsW);
  v("base_taps_h", p.baseTapsH);
  v("base_vectors", p.baseVectors);
  v("unroll", p.unroll);
  v("panel_a", p.panelA);
  v("panel_b", p.panelB);
  v("panel_c", p.panelC);
  v("pack_weights", p.packWeights);
  v("panel_d", p.panelD);
  v("panel_h", p.panelH);
  v("streaming_store", p.streamingStore);
  v("dot_products", p.dotProducts);
  v("stage_dy", p.stageDy);
  v("stage_x", p.stageX);
  v("stage_w", p.stageW);
  v("stage_result", p.stageResult);
}

}  // namespace cubejit
