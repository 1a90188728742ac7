// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides sections of a point's product: unrolled steps, then single ones.
#include "algorithms/kit/lower/point_product.h"

#include <string>
#include <utility>

namespace cubejit {

Contract productKernel(const PointProduct& p) {
  Contract contract;
  contract.lanes = p.lanes;
  contract.label = "product_" + std::to_string(p.rows) + "x" + std::to_string(p.vectors);
  for (std::int64_t i = 0; i < p.rows * p.vectors; ++i)
    contract.accumulators.push_back(Accumulator{static_cast<std::int32_t>(i * p.lanes * 4), {}});
  for (const std::int64_t steps : {p.unroll, std::int64_t{1}}) {
    Section section;
    section.aOuterStep = steps * p.aStep;
    section.bOuterStep = steps * p.bStep;
    for (std::int64_t k = 0; k < steps; ++k) {
      Step step;
      for (std::int64_t v = 0; v < p.vectors; ++v)
        step.b.push_back(VectorLoad{static_cast<std::int32_t>(k * p.bStep + v * p.lanes * 4), {}});
      for (std::int64_t r = 0; r < p.rows; ++r) {
        AOperand operand;
        operand.offset = static_cast<std::int32_t>(r * p.aRow + k * p.aStep);
        for (std::int64_t v = 0; v < p.vectors; ++v)
          operand.uses.push_back(Use{static_cast<std::int16_t>(r * p.vectors + v), static_cast<std::int16_t>(v)});
        step.a.push_back(std::move(operand));
      }
      section.steps.push_back(std::move(step));
    }
    contract.sections.push_back(std::move(section));
  }
  return contract;
}

SegmentList productList(const PointProduct& p, std::int64_t steps) {
  SegmentList list(2);
  const std::int64_t main = steps / p.unroll, done = main * p.unroll;
  if (main > 0) list[0].push_back(Segment{0, 0, main});
  if (done < steps) list[1].push_back(Segment{done * p.aStep, done * p.bStep, steps - done});
  return list;
}

}  // namespace cubejit
