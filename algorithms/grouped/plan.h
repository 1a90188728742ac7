// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plans of small groups: several groups side by side in a vector, products lane by lane. For depthwise layers and groups of
// few channels.
#pragma once

#include "cubejit/plan_parts.h"

namespace cubejit {

/// dX: rows of H by a run along W by taps.
struct GroupedDataPlan {
  IterateOrder order = IterateOrder::kPixelsOuter;
  std::int64_t groupParts = 1;  ///< parts of the vectors of groups, each a task's
  std::int64_t registerH = 1, registerW = 1, registerTaps = 1, registerVectors = 1;
  bool packA = false;  ///< dy is copied into a panel
  CacheBlock cache;
  bool dotProducts = false;  ///< pairs of bf16 channels are multiplied by dot products

  static constexpr const char* kName = "grouped";
  static constexpr Pass kPass = Pass::kDx;
  static constexpr bool varies(std::string_view) { return true; }
  /// Calls v(name, field) for every field.
  template <class Plan, class Visitor>
  static void describe(Plan& p, Visitor&& v) {
    v("order", p.order);
    v("group_parts", p.groupParts);
    v("register_h", p.registerH);
    v("register_w", p.registerW);
    v("register_taps", p.registerTaps);
    v("register_vectors", p.registerVectors);
    v("pack_a", p.packA);
    v("cache_d", p.cache.d);
    v("cache_h", p.cache.h);
    v("dot_products", p.dotProducts);
  }
};

/// dW: taps by channels of a group by neighbouring vectors of groups.
struct GroupedWeightsPlan {
  std::int64_t groupParts = 1, reductionParts = 1;
  std::int64_t registerChannels = 1, registerTapsH = 1, registerTapsW = 1, registerVectors = 1;
  std::int64_t unroll = 4;            ///< pixels of a loop iteration
  bool packA = false, packB = false;  ///< the tensor whose channels are permuted, the one whose channels are lanes
  ReductionBlock reduction;

  static constexpr const char* kName = "grouped";
  static constexpr Pass kPass = Pass::kDw;
  static constexpr bool varies(std::string_view) { return true; }
  /// Calls v(name, field) for every field.
  template <class Plan, class Visitor>
  static void describe(Plan& p, Visitor&& v) {
    v("group_parts", p.groupParts);
    v("reduction_parts", p.reductionParts);
    v("register_channels", p.registerChannels);
    v("register_taps_h", p.registerTapsH);
    v("register_taps_w", p.registerTapsW);
    v("register_vectors", p.registerVectors);
    v("unroll", p.unroll);
    v("pack_a", p.packA);
    v("pack_b", p.packB);
    v("reduction_n", p.reduction.n);
    v("reduction_d", p.reduction.d);
    v("reduction_h", p.reduction.h);
  }
};

}  // namespace cubejit
