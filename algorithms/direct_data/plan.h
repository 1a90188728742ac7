// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plan of the direct data gradient: a box of dx's pixels by vectors of channels is summed up in registers over taps and
// channels of dy. GEMM view: M = pixels of dx (A = dy), K = channels of dy x taps, N = channels of dx (B = w).
#pragma once

#include "cubejit/plan_parts.h"

namespace cubejit {

/// Which channels the lanes of a vector are. Input and output are the operation's own: it reads dy and writes dx.
enum class DataVectors : std::uint8_t {
  kOutputChannels,  ///< neighbouring channels of dx
  kInputChannels    ///< neighbouring channels of dy, summed across lanes at the end: for few channels of dx
};
constexpr const char* toString(DataVectors v) {
  return v == DataVectors::kOutputChannels ? "output_channels" : "input_channels";
}
constexpr std::array<DataVectors, 2> allValues(DataVectors) {
  return {DataVectors::kOutputChannels, DataVectors::kInputChannels};
}

/// How kernels get the weights.
enum class PackWeights : std::uint8_t {
  kBeforehand,  ///< all are packed into lane order in a phase of their own
  kPerTask,     ///< each task packs its block of output channels into a panel of its own, and walks all pixels
  kNone         ///< they are read in place (1x1 kernels of ordinary convolutions)
};
constexpr const char* toString(PackWeights p) {
  return p == PackWeights::kBeforehand ? "beforehand" : p == PackWeights::kPerTask ? "per_task" : "none";
}
constexpr std::array<PackWeights, 3> allValues(PackWeights) {
  return {PackWeights::kBeforehand, PackWeights::kPerTask, PackWeights::kNone};
}

struct DirectDataPlan {
  DataVectors vectorize = DataVectors::kOutputChannels;
  IterateOrder order = IterateOrder::kPixelsOuter;
  std::int64_t batchParts = 1;  ///< with packB = per_task: parts of the images, each a task's
  // Register block: the box of pixels and the vectors that accumulators hold.
  std::int64_t registerN = 1, registerD = 1, registerH = 1, registerW = 1;
  std::int64_t registerVectors = 1;
  std::int64_t broadcastTaps = 1;  ///< taps along W that share a broadcast of dy; each takes a register
  std::int64_t unroll = 4;         ///< reduction steps of a loop iteration
  bool packA = false;              ///< rows of dy are copied into a channels-last panel
  PackWeights packB = PackWeights::kBeforehand;
  bool bufferC = false;  ///< results are built in a panel and moved out
  CacheBlock cache;
  bool streamingStore = false;  ///< results go past the caches where they lie at a vector's alignment
  Prefetch prefetch = Prefetch::kUsual;
  std::int64_t prefetchDistance = 2;  ///< of operands, in register blocks
  bool dotProducts = false;           ///< pairs of bf16 channels are multiplied by dot products
  bool matrixUnit = false;            ///< pairs are multiplied by the matrix unit; the register block is in its tiles
  bool packsPerTask() const { return packB == PackWeights::kPerTask; }
  bool packsWeights() const { return packB != PackWeights::kNone; }

  static constexpr const char* kName = "direct";
  static constexpr Pass kPass = Pass::kDx;
  /// Which fields a tuner may change: another way to vectorise is another family of plans.
  static constexpr bool varies(std::string_view field) { return field != "vectorize"; }
  /// Calls v(name, field) for every field.
  template <class Plan, class Visitor>
  static void describe(Plan& p, Visitor&& v) {
    v("vectorize", p.vectorize);
    v("order", p.order);
    v("batch_parts", p.batchParts);
    v("register_n", p.registerN);
    v("register_d", p.registerD);
    v("register_h", p.registerH);
    v("register_w", p.registerW);
    v("register_vectors", p.registerVectors);
    v("broadcast_taps", p.broadcastTaps);
    v("unroll", p.unroll);
    v("pack_a", p.packA);
    v("pack_b", p.packB);
    v("buffer_c", p.bufferC);
    v("cache_d", p.cache.d);
    v("cache_h", p.cache.h);
    v("streaming_store", p.streamingStore);
    v("prefetch", p.prefetch);
    v("prefetch_distance", p.prefetchDistance);
    v("dot_products", p.dotProducts);
    v("matrix_unit", p.matrixUnit);
  }
};

}  // namespace cubejit
