// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which bytes a call touches, every one and no other, as few ranges: touch.h's, sorted and joined, once for each kernel and list.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "codegen/tile/touch.h"

namespace cubejit {

/// Sorts ranges, and joins those that meet.
void joinRanges(std::vector<ByteRange>& ranges);

/// It refers to the program; used by one thread at a time.
class ExactTouch {
 public:
  explicit ExactTouch(const TileProgram& program) : program_(&program) {}

  /// Relative to the operand's pointer, ascending, without repetitions of the call. Precondition: the variant has a kernel.
  const std::vector<ByteRange>& rangesOf(const Variant& variant, CallOperand operand);
  /// Visits the ranges of all repetitions, from `at` on, until `visit` returns false.
  template <class Visit>
  void visit(const Call& call, CallOperand operand, std::int64_t at, const Visit& visit) {
    const auto s = static_cast<std::size_t>(operand);
    const std::vector<ByteRange>& ranges = rangesOf(call.variants.front(), operand);
    for (std::int64_t rep = 0; rep < call.place.repeat; ++rep) {
      const std::int64_t from = at + call.place.offset[s] + rep * call.place.repeatStep[s];
      for (const ByteRange& r : ranges) {
        if (!visit(ByteRange{from + r.begin, from + r.end})) return;
      }
    }
  }

 private:
  const TileProgram* program_;
  std::map<std::tuple<int, int, CallOperand>, std::vector<ByteRange>> known_;
};

}  // namespace cubejit
