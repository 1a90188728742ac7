// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the form of a tiling: every choice the generator needs beyond the problem itself, as one plain value.
// A plan is enumerated and checked by tiling/, lowered by codegen/, and may be written by hand.
#pragma once

#include <cstdint>
#include <string>

#include "cubejit/dtype.h"
#include "cubejit/mkn.h"
#include "cubejit/problem.h"

namespace cubejit {

/// What becomes of weights between runs.
enum class WeightsUse : std::uint8_t {
  kEachRun,  ///< every run reads w, and packs it if its plan does
  kKept      ///< they are packed once, by Executable::packWeights(), for as many runs as the caller likes
};

/// Which unit multiplies, and so which of a plan's fields count: the host's vector registers or an NPU's cube.
enum class PlanUnit : std::uint8_t { kVector, kCube };
constexpr const char* toString(PlanUnit u) { return u == PlanUnit::kVector ? "vector" : "cube"; }

/// What the lanes of a vector register stand for.
enum class LaneRole : std::uint8_t {
  kChannels,  ///< consecutive channels of the result (dX: its channels; dW: channels of the strided-over tensor)
  kPixels,    ///< consecutive pixels along W; accumulators: dX rows and channels of a residue class, dW taps
  kSwapped,   ///< dW only: channels of the other tensor; (taps x channels) are accumulator rows
  kGroupCells,  ///< several small groups side by side; multiply-accumulates are lane-wise (depthwise and few channels a group)
  kReduced,   ///< dX only, few result channels: channels of dY, summed across lanes at the end
  kWinograd,  ///< as kChannels, but of tiles that Winograd's minimal filtering transforms
  kTaps  ///< dW only: (taps along W x channels) of the strided-over tensor, as they lie side by side; few lanes are idle where its
         ///< channels alone do not fill vectors
};
constexpr LaneRole kAllLaneRoles[] = {LaneRole::kChannels,   LaneRole::kPixels,  LaneRole::kSwapped,
                                      LaneRole::kGroupCells, LaneRole::kReduced, LaneRole::kWinograd,
                                      LaneRole::kTaps};
constexpr const char* toString(LaneRole r) {
  return r == LaneRole::kChannels   ? "channels"
         : r == LaneRole::kPixels   ? "pixels"
         : r == LaneRole::kSwapped  ? "swapped"
         : r == LaneRole::kReduced  ? "reduced"
         : r == LaneRole::kWinograd ? "winograd"
         : r == LaneRole::kTaps     ? "taps"
                                    : "group_cells";
}

/// Which loop is outside within a core: over pixels (weights reused from cache) or over result channels (pixels reused).
enum class IterateOrder : std::uint8_t { kPixelsOuter, kChannelsOuter };
constexpr const char* toString(IterateOrder o) {
  return o == IterateOrder::kPixelsOuter ? "pixels_outer" : "channels_outer";
}

/// What spells a plan's kernels. All backends agree in every bit, so it is a choice of speed alone.
enum class PlanBackend : std::uint8_t {
  kSession,  ///< Options::backend
  kLlvm      ///< the LLVM component, in a session whose own backend makes machine code
};
constexpr const char* toString(PlanBackend b) { return b == PlanBackend::kSession ? "session" : "llvm"; }

/// Which lines a contract asks for ahead of their use.
enum class Prefetch : std::uint8_t {
  kUsual,  ///< those that results of long sums go to; with reduced lanes those of dY `prefetchDistance` base blocks ahead
  kNone,     ///< none; the hardware may foresee them
  kResults,  ///< those that results go to, however short the sum
  kOperands  ///< as usual, and those of dY `prefetchDistance` base blocks ahead (dX with channel lanes that reads dY where it lies)
};
constexpr const char* toString(Prefetch p) {
  return p == Prefetch::kUsual     ? "usual"
         : p == Prefetch::kNone    ? "none"
         : p == Prefetch::kResults ? "results"
                                   : "operands";
}

/// How the work is cut into tasks. The product is the number of tasks; threads take tasks, so any thread count works.
/// On an NPU a task is what one SetSingleShape covers: one image, one real group, one depth. Its cores take equal runs of tasks.
struct CoreSplit {
  std::int64_t batch = 1, groups = 1, depth = 1, rows = 1, channelsM = 1, channelsN = 1;
  std::int64_t reduction =
      1;  ///< dW, db: pixel ranges summed apart, then combined in order; fixed by the plan, not by threads
  std::int64_t tapsD = 1;  ///< dW on a cube: depths of the kernel, each a task of its own
  std::int64_t tasks() const { return batch * groups * depth * rows * channelsM * channelsN * reduction * tapsD; }
};

/// Which loop over a task's base blocks is outside. An NPU's iterateOrder: kMOuter is 0, kNOuter (m runs fastest) is 1.
enum class BlockOrder : std::uint8_t { kMOuter, kNOuter };
constexpr const char* toString(BlockOrder o) { return o == BlockOrder::kMOuter ? "m_outer" : "n_outer"; }

/// Tensors converted as a whole into (or, the result, out of) f32 in the workspace, because the algorithm does not take them as they
/// lie. activations become channels-last, weights plain; coreProblem() is what is left to solve.
struct Reorders {
  bool dy = false, x = false, w = false, result = false;
  /// dX of kernels as wide as their stride: dx is written as in.w / kernel.w columns of kernel.w * cin channels. Needs `w`: taps
  /// along W become channels there. See foldable().
  bool spaceToDepth = false;
  bool any() const { return dy || x || w || result; }
  friend bool operator==(const Reorders& a, const Reorders& b) {
    return a.dy == b.dy && a.x == b.x && a.w == b.w && a.result == b.result && a.spaceToDepth == b.spaceToDepth;
  }
  friend bool operator!=(const Reorders& a, const Reorders& b) { return !(a == b); }
};

/// How a task goes through an NPU core's buffers. 1 buffer = single, 2 = double buffering (ping-pong).
struct CubeTile {
  DType operand = DType::kF16;
  Mkn base;                             ///< L0C holds m x n sums, L0A m x k, L0B k x n elements
  std::int64_t stepM = 1, stepN = 1;    ///< base blocks side by side in L1
  std::int64_t stepKa = 1, stepKb = 1;  ///< base.k's of A and of B in L1
  std::int64_t buffersL0a = 2, buffersL0b = 2, buffersL0c = 1;
  std::int64_t buffersA1 = 2, buffersB1 = 2;  ///< of A and of B in L1
  BlockOrder order = BlockOrder::kNOuter;
};

/// One tiling of one gradient, on the host or on an NPU.
///
/// GEMM view: dX: M = pixels, K = reduced channels x taps, N = result channels. dW: M = rows x taps, K = pixels, N = lane channels.
/// On a cube, where a real group's channels are padded to whole blocks: dX: M = pixels of one depth, K = reduced channels x all
/// taps, N = result channels. dW: M = channels of the small tensor, K = its pixels at one depth, N = channels of the big one x
/// taps of one depth.
struct TilingPlan {
  PlanUnit unit =
      PlanUnit::kVector;  ///< kVector: all fields but `cube`; kCube: gradient, cores, singleShape and `cube`
  Gradient gradient = Gradient::kDx;
  LaneRole lanes = LaneRole::kChannels;
  IterateOrder order = IterateOrder::kPixelsOuter;
  CoreSplit cores;
  Mkn singleShape;  ///< extent a task works on, in the GEMM view
  // Base block = the accumulators held in registers.
  std::int64_t baseBatch = 1, baseD = 1, baseH = 1, baseW = 1;  ///< dX: box of result pixels; rows = their product
  std::int64_t baseRows = 1;  ///< dW: accumulator rows (channels); dX with kPixels: result channels
  std::int64_t baseTapsW = 1,
               baseTapsH = 1;    ///< taps held at once (dX, channel lanes: those along W that share scalars)
  std::int64_t baseVectors = 1;  ///< vectors side by side
  std::int64_t unroll = 4;       ///< reduction steps per loop iteration (stepK)
  /// kWinograd: positions of a tile along d, h, w (1 where the kernel has one tap): pixels of dx, or of dW's small tensor.
  /// A base block is baseRows tiles (dX) or channels (dW), panelH counts rows of tiles over all images, depths and heights.
  /// dX with panelB: tasks transform their weights themselves, panelD reduced channels at a time. dW with panelC: tasks have
  /// accumulators to themselves.
  std::int64_t winogradD = 1, winogradH = 1, winogradW = 1;
  // L1 step: what is staged in the private panels of a thread.
  bool panelA = false;  ///< operand dY (dX) or the row operand (dW) is transposed into a channels-last / pixel panel
  /// dW: the lane operand is transposed into a panel; dX with pixel lanes: dY into [channel][pixel]; dX with channel lanes:
  /// each task packs its block of weights into a panel of its own.
  bool panelB = false;
  /// dW, one tap, pixels outside: lanes are read where they lie by the first block of rows, whose kernel leaves them in a panel for
  /// the other blocks, while it computes.
  bool firstTouch = false;
  bool panelC = false;  ///< results are built in a panel and moved out (dW: accumulators private to a task)
  bool packWeights =
      true;  ///< dX: weights are copied into lane order first; false reads them in place (1x1 kernels only)
  std::int64_t panelD = 1,
               panelH = 1;      ///< result rows per panel (dX); pixel rows per reduction step (dW: reduced rows)
  bool streamingStore = false;  ///< dX: results go past the caches where they lie at a vector's alignment
  Prefetch prefetch = Prefetch::kUsual;
  std::int64_t prefetchDistance = 2;  ///< of operands, in base blocks
  PlanBackend backend = PlanBackend::kSession;
  bool dotProducts = false;  ///< pairs of bf16 are multiplied by dot products: of channels (dX) or of pixels (dW)
  Reorders reorders;
  CubeTile cube;
};

/// Calls v(fieldName, field&) for every field that counts for the plan's unit; printing, JSON, hashing and comparison are written
/// against it. `unit` comes first, so that a reader that sets it sees the fields that go with it.
template <class P, class Visitor>
void describePlan(P& p, Visitor&& v) {
  const auto split = [&] {
    v("core_batch", p.cores.batch);
    v("core_groups", p.cores.groups);
    v("core_depth", p.cores.depth);
    v("core_rows", p.cores.rows);
    v("core_channels_m", p.cores.channelsM);
    v("core_channels_n", p.cores.channelsN);
    v("core_reduction", p.cores.reduction);
    if (p.unit == PlanUnit::kCube) v("core_taps_d", p.cores.tapsD);
    v("single_shape_m", p.singleShape.m);
    v("single_shape_k", p.singleShape.k);
    v("single_shape_n", p.singleShape.n);
  };
  v("unit", p.unit);
  v("gradient", p.gradient);
  if (p.unit == PlanUnit::kCube) {
    v("operand", p.cube.operand);
    v("block_order", p.cube.order);
    split();
    v("base_m", p.cube.base.m);
    v("base_k", p.cube.base.k);
    v("base_n", p.cube.base.n);
    v("step_m", p.cube.stepM);
    v("step_n", p.cube.stepN);
    v("step_ka", p.cube.stepKa);
    v("step_kb", p.cube.stepKb);
    v("buffers_l0a", p.cube.buffersL0a);
    v("buffers_l0b", p.cube.buffersL0b);
    v("buffers_l0c", p.cube.buffersL0c);
    v("buffers_a1", p.cube.buffersA1);
    v("buffers_b1", p.cube.buffersB1);
    return;
  }
  v("lanes", p.lanes);
  v("order", p.order);
  split();
  v("base_batch", p.baseBatch);
  v("base_d", p.baseD);
  v("base_h", p.baseH);
  v("base_w", p.baseW);
  v("base_rows", p.baseRows);
  v("base_taps_w", p.baseTapsW);
  v("base_taps_h", p.baseTapsH);
  v("base_vectors", p.baseVectors);
  v("unroll", p.unroll);
  v("winograd_d", p.winogradD);
  v("winograd_h", p.winogradH);
  v("winograd_w", p.winogradW);
  v("panel_a", p.panelA);
  v("panel_b", p.panelB);
  v("first_touch", p.firstTouch);
  v("panel_c", p.panelC);
  v("pack_weights", p.packWeights);
  v("panel_d", p.panelD);
  v("panel_h", p.panelH);
  v("streaming_store", p.streamingStore);
  v("prefetch", p.prefetch);
  v("prefetch_distance", p.prefetchDistance);
  v("backend", p.backend);
  v("dot_products", p.dotProducts);
  v("stage_dy", p.reorders.dy);
  v("stage_x", p.reorders.x);
  v("stage_w", p.reorders.w);
  v("stage_result", p.reorders.result);
  v("space_to_depth", p.reorders.spaceToDepth);
}

}  // namespace cubejit
