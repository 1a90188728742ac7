// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: taps one after another, or a reduction step of all of them at once, and then the columns of dy in turn.
#include "algorithms/direct_data/lower/data_sections.h"

#include <map>
#include <utility>
#include <vector>

namespace cubejit {
namespace {

class DataSteps {
 public:
  DataSteps(const DataTile& tile, const Subset& rows) : t_(tile), s_(rows) {}

  // Step k of one tap.
  Step ofTap(const GroupedTap& tap, std::int64_t k, std::int64_t left) const {
    Step step;
    loadVectors(step, tap, k);
    eachRow([&](std::int64_t row, std::int64_t at) {
      AOperand operand;
      if (t_.inputVectors) {
        operand.kind = AKind::kVector;
        operand.lanes = lanesUpTo(left - k * t_.lanes, t_.lanes);
      }
      operand.offset = static_cast<std::int32_t>(tap.a + k * t_.aChannel + at);
      use(operand, row, 0);
      step.a.push_back(std::move(operand));
    });
    return step;
  }

  // Step k of all taps: what each scalar is used for, in the order of scalars.
  Step ofAll(std::int64_t k) const {
    Step step;
    for (const GroupedTap& tap : s_.taps) loadVectors(step, tap, k);
    std::map<std::int64_t, AOperand> scalars;
    for (std::size_t i = 0; i < s_.taps.size(); ++i) {
      const GroupedTap& tap = s_.taps[i];
      Subset reached = s_;
      (t_.tapsAlongH ? reached.hLo : reached.wLo) = tap.lo;
      (t_.tapsAlongH ? reached.hHi : reached.wHi) = tap.hi;
      DataSteps(t_, reached).eachRow([&](std::int64_t row, std::int64_t at) {
        AOperand& operand = scalars[tap.a + k * t_.aChannel + at];
        use(operand, row, static_cast<std::int64_t>(i) * t_.vectors);
      });
    }
    for (auto& [offset, operand] : scalars) {
      operand.offset = static_cast<std::int32_t>(offset);
      step.a.push_back(std::move(operand));
    }
    return step;
  }

 private:
  // Calls visit(number of the result, where its operand lies) for the subset's results.
  template <class Visit>
  void eachRow(Visit visit) const {
    const Lens& l = t_.lens;
    for (std::int64_t n = 0; n < l.n; ++n) {
      for (std::int64_t d = s_.dLo; d < s_.dHi; ++d) {
        for (std::int64_t h = s_.hLo; h < s_.hHi; ++h) {
          for (std::int64_t w = s_.wLo; w < s_.wHi; ++w) {
            visit(((n * l.d + d) * l.h + h) * l.w + w, n * t_.a.n + d * t_.operandStep[0] * t_.a.d +
                                                           h * t_.operandStep[1] * t_.a.h +
                                                           w * t_.operandStep[2] * t_.a.w);
          }
        }
      }
    }
  }

  void loadVectors(Step& step, const GroupedTap& tap, std::int64_t k) const {
    for (std::int64_t v = 0; v < t_.vectors; ++v) {
      const bool cut = t_.lastVector > 0 && v + 1 == t_.vectors;
      step.b.push_back(VectorLoad{static_cast<std::int32_t>(tap.b + k * t_.bChannel + v * t_.bVector),
                                  cut ? lanesUpTo(t_.lastVector, t_.lanes) : LaneRange{}});
    }
  }

  void use(AOperand& operand, std::int64_t row, std::int64_t firstVector) const {
    for (std::int64_t v = 0; v < t_.vectors; ++v)
      operand.uses.push_back(
          Use{static_cast<std::int16_t>(row * t_.vectors + v), static_cast<std::int16_t>(firstVector + v)});
  }

  const DataTile& t_;
  const Subset& s_;
};

}  // namespace

Section dataSection(const DataTile& tile, const Subset& rows, std::int64_t steps, std::int64_t left) {
  Section out;
  out.aOuterStep = steps * tile.aChannel;
  out.bOuterStep = steps * tile.bChannel;
  const DataSteps of(tile, rows);
  if (tile.reusesBroadcasts) {
    for (std::int64_t k = 0; k < steps; ++k) out.steps.push_back(of.ofAll(k));
    if (rows.prefetches) out.steps.front().prefetchAhead = static_cast<std::int32_t>(tile.prefetchAhead);
    return out;
  }
  for (std::size_t tap = 0; tap < rows.taps.size(); ++tap) {
    for (std::int64_t k = 0; k < steps; ++k) {
      out.steps.push_back(of.ofTap(rows.taps[tap], k, left));
      // Each row is a stream of its own along W: ask for the lines of a block to come, once for a few scalars.
      if (rows.prefetches && tap == 0 && (tile.inputVectors || k == 0))
        out.steps.back().prefetchAhead = static_cast<std::int32_t>(tile.prefetchAhead);
    }
  }
  return out;
}

}  // namespace cubejit
