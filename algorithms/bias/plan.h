// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the plan of a bias gradient: vectors of channels are summed up over pixels.
#pragma once

#include "cubejit/plan_parts.h"

namespace cubejit {

struct BiasPlan {
  std::int64_t registerVectors = 1;
  std::int64_t reductionParts = 1;  ///< ranges of pixels, summed apart and combined in order

  static constexpr const char* kName = "bias";
  static constexpr Pass kPass = Pass::kDb;
  static constexpr bool varies(std::string_view) { return true; }
  /// Calls v(name, field) for every field.
  template <class Plan, class Visitor>
  static void describe(Plan& p, Visitor&& v) {
    v("register_vectors", p.registerVectors);
    v("reduction_parts", p.reductionParts);
  }
};

}  // namespace cubejit
