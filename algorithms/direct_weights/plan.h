// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plan of the direct weight gradient: rows of channels by taps by vectors of the other tensor's channels are summed up in
// registers over pixels. GEMM view: M = rows x taps (A), K = pixels, N = vectorised channels (B). The small and the big tensor are
// dy and x, of transposed convolutions x and dy.
#pragma once

#include "cubejit/plan_parts.h"

namespace cubejit {

/// What the lanes of a vector are.
enum class WeightVectors : std::uint8_t {
  kChannels,    ///< channels of the big tensor; rows are the small one's
  kTransposed,  ///< operands exchanged: channels of the small tensor; rows are taps and channels of the big one
  kKernelWidth  ///< (taps along W x channels) of the big tensor as they lie side by side, where channels alone leave lanes idle
};
constexpr const char* toString(WeightVectors v) {
  return v == WeightVectors::kChannels ? "channels" : v == WeightVectors::kTransposed ? "transposed" : "kernel_width";
}
constexpr std::array<WeightVectors, 3> allValues(WeightVectors) {
  return {WeightVectors::kChannels, WeightVectors::kTransposed, WeightVectors::kKernelWidth};
}

/// Whether vectors are read from a packed panel.
enum class PackVectors : std::uint8_t {
  kNone,   ///< from the tensor, where they lie
  kBlock,  ///< from a panel that is filled for each reduction block
  kFirstUse  ///< one tap, pixels outside: the first block of rows reads them where they lie and leaves a panel for the others
};
constexpr const char* toString(PackVectors p) {
  return p == PackVectors::kNone ? "none" : p == PackVectors::kBlock ? "block" : "first_use";
}
constexpr std::array<PackVectors, 3> allValues(PackVectors) {
  return {PackVectors::kNone, PackVectors::kBlock, PackVectors::kFirstUse};
}

struct DirectWeightsPlan {
  WeightVectors vectorize = WeightVectors::kChannels;
  IterateOrder order = IterateOrder::kPixelsOuter;
  // Tasks: parts of the rows, of the vectors, and of the pixels; the last are summed apart and combined in order.
  std::int64_t rowParts = 1, vectorParts = 1, reductionParts = 1;
  std::int64_t registerRows = 1, registerTaps = 1,
               registerVectors = 1;  ///< accumulators: rows x taps along W x vectors
  std::int64_t unroll = 4;           ///< pixels of a loop iteration
  bool packA = false;                ///< the row operand is copied into a panel of pixels
  PackVectors packB = PackVectors::kNone;
  bool bufferC = false;  ///< a task has accumulators of its own and moves them out when they are complete
  ReductionBlock reduction;
  bool prefetchResults = true;  ///< of sums that are stored into dw itself
  bool dotProducts = false;     ///< pairs of bf16 pixels are multiplied by dot products
  bool matrixUnit = false;      ///< pairs of 16-bit pixels are multiplied in tiles
  bool packsVectors() const { return packB == PackVectors::kBlock; }
  bool packsOnFirstUse() const { return packB == PackVectors::kFirstUse; }

  static constexpr const char* kName = "direct";
  static constexpr Pass kPass = Pass::kDw;
  /// Which fields a tuner may change: another way to vectorise is another family of plans.
  static constexpr bool varies(std::string_view field) { return field != "vectorize"; }
  /// Calls v(name, field) for every field.
  template <class Plan, class Visitor>
  static void describe(Plan& p, Visitor&& v) {
    v("vectorize", p.vectorize);
    v("order", p.order);
    v("row_parts", p.rowParts);
    v("vector_parts", p.vectorParts);
    v("reduction_parts", p.reductionParts);
    v("register_rows", p.registerRows);
    v("register_taps", p.registerTaps);
    v("register_vectors", p.registerVectors);
    v("unroll", p.unroll);
    v("pack_a", p.packA);
    v("pack_b", p.packB);
    v("buffer_c", p.bufferC);
    v("reduction_n", p.reduction.n);
    v("reduction_d", p.reduction.d);
    v("reduction_h", p.reduction.h);
    v("prefetch_results", p.prefetchResults);
    v("dot_products", p.dotProducts);
    v("matrix_unit", p.matrixUnit);
  }
};

}  // namespace cubejit
