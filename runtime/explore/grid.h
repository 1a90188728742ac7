// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which machines an exploration asks about: which numbers of one may vary, and the grid of all combinations. Leaves which machines
// make sense to checkMachine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cubejit/machine.h"
#include "cubejit/result.h"
#include "runtime/text/json_value.h"

namespace cubejit {

/// Points of one grid, at most.
inline constexpr std::size_t kMostPoints = 4096;

/// A field of the machine's JSON and the values it takes.
struct VariedNumber {
  std::string field;         ///< as the JSON spells it, e.g. "l1_bytes", "rates.ddr_read", or kMemoryRate
  std::vector<Json> values;  ///< numbers, ascending
};

struct GridPoint {
  Machine machine;  ///< named after the base and what differs
  Json vary;        ///< field -> value
};

/// What the chip's memory gives in a second, GB/s: `rates.ddr_read` and `rates.ddr_write` of all cores together.
inline constexpr const char* kMemoryRate = "hbm";

/// The numbers of a machine's JSON that may vary: field -> JSON pointer. kMemoryRate is not among them.
std::map<std::string, std::string> machineNumbers(const Json& machine);

/// All combinations, the last axis fastest. What the chip's memory gives in a second stays when `cores` or `mhz` change, unless rates
/// of it vary themselves. Errors: more than kMostPoints; every rule a machine breaks, once.
Result<std::vector<GridPoint>> gridOf(const std::vector<VariedNumber>& axes, const Machine& base);

}  // namespace cubejit
