// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plans of Winograd's minimal filtering: tiles are transformed, multiplied point by point as matrix products over channels, and
// transformed back.
#pragma once

#include "cubejit/plan_parts.h"

namespace cubejit {

struct WinogradDataPlan {
  /// Pixels of dx that a tile gives along d, h, w; 1 where the kernel has one tap.
  std::int64_t tileD = 1, tileH = 1, tileW = 1;
  std::int64_t registerRows = 1, registerVectors = 1;  ///< tiles by vectors of channels of dx
  std::int64_t unroll = 4;
  bool perTask =
      false;  ///< tasks transform the weights of their channels themselves, patches are transformed beforehand
  std::int64_t cacheRows = 1;      ///< rows of tiles, over all images, depths and heights, of a task
  std::int64_t cacheChannels = 1;  ///< with perTask: channels of dy whose weights are transformed at a time
  std::int64_t channelParts = 1;   ///< parts of the channels of dx

  static constexpr const char* kName = "winograd";
  static constexpr Pass kPass = Pass::kDx;
  static constexpr bool varies(std::string_view) { return true; }
  /// Calls v(name, field) for every field.
  template <class Plan, class Visitor>
  static void describe(Plan& p, Visitor&& v) {
    v("tile_d", p.tileD);
    v("tile_h", p.tileH);
    v("tile_w", p.tileW);
    v("register_rows", p.registerRows);
    v("register_vectors", p.registerVectors);
    v("unroll", p.unroll);
    v("per_task", p.perTask);
    v("cache_rows", p.cacheRows);
    v("cache_channels", p.cacheChannels);
    v("channel_parts", p.channelParts);
  }
};

struct WinogradWeightsPlan {
  /// Pixels of the small tensor that a tile has along d, h, w; 1 where the kernel has one tap.
  std::int64_t tileD = 1, tileH = 1, tileW = 1;
  std::int64_t registerRows = 1,
               registerVectors = 1;  ///< channels of the small tensor by vectors of channels of the big one
  std::int64_t unroll = 4;
  bool bufferC = false;        ///< tasks have accumulators to themselves; tiles are transformed beforehand
  std::int64_t cacheRows = 1;  ///< rows of tiles, over all images, depths and heights, that are transformed at a time
  std::int64_t rowParts = 1, vectorParts = 1, reductionParts = 1;

  static constexpr const char* kName = "winograd";
  static constexpr Pass kPass = Pass::kDw;
  static constexpr bool varies(std::string_view) { return true; }
  /// Calls v(name, field) for every field.
  template <class Plan, class Visitor>
  static void describe(Plan& p, Visitor&& v) {
    v("tile_d", p.tileD);
    v("tile_h", p.tileH);
    v("tile_w", p.tileW);
    v("register_rows", p.registerRows);
    v("register_vectors", p.registerVectors);
    v("unroll", p.unroll);
    v("buffer_c", p.bufferC);
    v("cache_rows", p.cacheRows);
    v("row_parts", p.rowParts);
    v("vector_parts", p.vectorParts);
    v("reduction_parts", p.reductionParts);
  }
};

}  // namespace cubejit
