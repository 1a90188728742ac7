// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which machines an exploration asks about: what `--vary` may name, its ranges, and the grid of all combinations.
#pragma once

#include <string>
#include <vector>

#include "cubejit/machine.h"
#include "cubejit/result.h"
#include "runtime/text/json_value.h"

namespace cubejit::cli {

/// Points of one grid, at most.
inline constexpr std::size_t kMostPoints = 4096;

/// A field of the machine's JSON and the values it takes.
struct Axis {
  std::string field;         ///< as the JSON spells it, e.g. "l1_bytes", "rates.ddr_read", or "hbm"
  std::vector<Json> values;  ///< numbers, ascending
};

struct GridPoint {
  Machine machine;  ///< named after the base and what differs
  Json vary;        ///< field -> value
};

/// Axes of `FIELD=A..B` (doubling, and B), `FIELD=A..B:STEP` and `FIELD=V,V,...`; sizes in bytes take K, M and G. Every mistake is
/// reported, with the field.
Result<std::vector<Axis>> parseAxes(const std::vector<std::string>& texts, const Machine& base);

/// All combinations, the last axis fastest. What the chip's memory gives in a second stays when `cores` or `mhz` change, unless rates
/// of it vary themselves. Errors: more than kMostPoints; every rule a machine breaks, once.
Result<std::vector<GridPoint>> gridOf(const std::vector<Axis>& axes, const Machine& base);

}  // namespace cubejit::cli
