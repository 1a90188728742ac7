// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the words of rules that several algorithms have.
#include "algorithms/kit/rules.h"

#include <limits>

#include "algorithms/kit/conv_view.h"

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
