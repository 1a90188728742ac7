// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plans of the spatial algorithm: lanes are neighbouring pixels along W, of one residue class of the stride.
#pragma once

#include "cubejit/plan_parts.h"

namespace cubejit {

/// dX: rows of H by channels of dx by vectors of pixels are summed up over channels of dy and taps.
struct SpatialDataPlan {
  std::int64_t registerH = 1, registerChannels = 1, registerVectors = 1;
  std::int64_t unroll = 4;  ///< channels of dy of a loop iteration
  bool packA = false;       ///< dy is copied into a panel of [channel][pixel]
  bool bufferC = false;     ///< results are built in a panel and moved out
  CacheBlock cache;

  static constexpr const char* kName = "spatial";
  static constexpr Pass kPass = Pass::kDx;
  static constexpr bool varies(std::string_view) { return true; }
  /// Calls v(name, field) for every field.
  template <class Plan, class Visitor>
  static void describe(Plan& p, Visitor&& v) {
    v("register_h", p.registerH);
    v("register_channels", p.registerChannels);
    v("register_vectors", p.registerVectors);
    v("unroll", p.unroll);
    v("pack_a", p.packA);
    v("buffer_c", p.bufferC);
    v("cache_d", p.cache.d);
    v("cache_h", p.cache.h);
  }
};

/// dW: taps of one pair of channels are summed up over vectors of pixels, and across lanes at the end.
struct SpatialWeightsPlan {
  std::int64_t registerTapsH = 1, registerTapsW = 1;  ///< accumulators
  std::int64_t registerH = 1;                         ///< rows of the small tensor that a step holds
  std::int64_t reductionParts = 1;                    ///< parts of the pixels, summed apart and combined in order
  ReductionBlock reduction;

  static constexpr const char* kName = "spatial";
  static constexpr Pass kPass = Pass::kDw;
  static constexpr bool varies(std::string_view) { return true; }
  /// Calls v(name, field) for every field.
  template <class Plan, class Visitor>
  static void describe(Plan& p, Visitor&& v) {
    v("register_taps_h", p.registerTapsH);
    v("register_taps_w", p.registerTapsW);
    v("register_h", p.registerH);
    v("reduction_parts", p.reductionParts);
    v("reduction_n", p.reduction.n);
    v("reduction_d", p.reduction.d);
    v("reduction_h", p.reduction.h);
  }
};

}  // namespace cubejit
