// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plan of an NPU's cube: how a task goes through a core's buffers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "cubejit/dtype.h"
#include "cubejit/mkn.h"

namespace cubejit {

/// How the work is cut into tasks: the product is their number. A task is what one SetSingleShape covers: one image, one real group, one
/// depth. Cores take equal runs of tasks.
struct CoreSplit {
  std::int64_t batch = 1, groups = 1, depth = 1, rows = 1, channelsM = 1, channelsN = 1;
  std::int64_t reduction = 1;  ///< dW: ranges of pixels summed apart, then combined in order
  std::int64_t tapsD = 1;      ///< dW: depths of the kernel, each a task of its own
  std::int64_t tasks() const { return batch * groups * depth * rows * channelsM * channelsN * reduction * tapsD; }
};

/// Which loop over a task's base blocks is outside. An NPU's iterateOrder: kMOuter is 0, kNOuter (m runs fastest) is 1.
enum class BlockOrder : std::uint8_t { kMOuter, kNOuter };
constexpr const char* toString(BlockOrder o) { return o == BlockOrder::kMOuter ? "m_outer" : "n_outer"; }
constexpr std::array<BlockOrder, 2> allValues(BlockOrder) { return {BlockOrder::kMOuter, BlockOrder::kNOuter}; }
constexpr std::array<DType, 5> allValues(DType) {
  return {DType::kF32, DType::kF16, DType::kBf16, DType::kHf32, DType::kHf32Low};
}

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

/// The plan of dX or dW on an NPU.
///
/// GEMM view, where a real group's channels are padded to whole blocks: dX: M = pixels of one depth, K = reduced channels x all taps,
/// N = result channels. dW: M = channels of the small tensor, K = its pixels at one depth, N = channels of the big one x taps of one
/// depth.
struct CubePlan {
  CubeTile tile;
  CoreSplit cores;
  Mkn singleShape;  ///< extent a task works on

  static constexpr const char* kName = "cube";
  /// Which fields a tuner may change: single shapes are decided, the split among cores follows from them.
  static constexpr bool varies(std::string_view field) { return field != "operand" && field.substr(0, 5) != "core_"; }
  /// Calls v(name, field) for every field.
  template <class Plan, class Visitor>
  static void describe(Plan& p, Visitor&& v) {
    v("operand", p.tile.operand);
    v("block_order", p.tile.order);
    v("core_batch", p.cores.batch);
    v("core_groups", p.cores.groups);
    v("core_depth", p.cores.depth);
    v("core_rows", p.cores.rows);
    v("core_channels_m", p.cores.channelsM);
    v("core_channels_n", p.cores.channelsN);
    v("core_reduction", p.cores.reduction);
    v("core_taps_d", p.cores.tapsD);
    v("single_shape_m", p.singleShape.m);
    v("single_shape_k", p.singleShape.k);
    v("single_shape_n", p.singleShape.n);
    v("base_m", p.tile.base.m);
    v("base_k", p.tile.base.k);
    v("base_n", p.tile.base.n);
    v("step_m", p.tile.stepM);
    v("step_n", p.tile.stepN);
    v("step_ka", p.tile.stepKa);
    v("step_kb", p.tile.stepKb);
    v("buffers_l0a", p.tile.buffersL0a);
    v("buffers_l0b", p.tile.buffersL0b);
    v("buffers_l0c", p.tile.buffersL0c);
    v("buffers_a1", p.tile.buffersA1);
    v("buffers_b1", p.tile.buffersB1);
  }
};

}  // namespace cubejit
