// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the words of rules that several algorithms have.
#include "algorithms/kit/rules.h"

#include <algorithm>
#include <limits>

#include "algorithms/kit/conv_view.h"
#include "tiling/rounding.h"

namespace cubejit {

std::string needsMore(const char* what, std::int64_t needed, std::int64_t available, const char* fix) {
  return std::string(what) + ": needs " + std::to_string(needed) + ", there are " + std::to_string(available) + "; " +
         fix;
}

void requireRegisters(Rules& rules, const MicrokernelRegisters& needs, const HostIsa& isa, const char* sums) {
  rules.require(fitsRegisters(needs, isa), [&] {
    const std::string what = "vector registers (" + std::string(sums) + " = " + std::to_string(needs.accumulators) +
                             " sums, and what their operands need)";
    return needsMore(what.c_str(), registersNeeded(needs), registersThere(needs, isa), "shrink the register block");
  });
}

void requireFewBlocks(Rules& rules, const char* what, std::int64_t extent, std::int64_t each, const char* fix) {
  const std::int64_t blocks = ceilDiv(extent, std::max<std::int64_t>(1, each));
  rules.require(blocks <= kMostBlocks, [&] {
    return std::string(what) + ": " + std::to_string(extent) + " positions in blocks of " + std::to_string(each) +
           " are " + std::to_string(blocks) + " blocks, more than the " + std::to_string(kMostBlocks) +
           " that a program may have; " + fix;
  });
}

void requireReach(Rules& rules, const char* what, std::int64_t bytes) {
  rules.require(bytes >= 0 && bytes <= std::numeric_limits<std::int32_t>::max() / 2, [&] {
    return std::string(what) + " spans " + std::to_string(bytes) +
           " bytes, more than a displacement reaches; make the base block smaller";
  });
}

void requireWholeBlocks(Rules& rules, const TensorView& t, bool cut, std::int64_t each, const char* what) {
  rules.require(t.c0 == 0 || !cut || each % t.c0 == 0, [&] {
    return std::string(what) + " are cut every " + std::to_string(each) + " channels, but lie in blocks of " +
           std::to_string(t.c0);
  });
}

}  // namespace cubejit
