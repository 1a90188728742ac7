// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides sections and their steps.
#include "codegen/lower/cell_sections.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cubejit {
namespace {

// Channel j of every operand position is loaded once and used by all pairs that read it.
Step stepOf(const std::vector<CellPair>& pairs, const CellLanes& lanes, std::int64_t cells, std::int64_t j,
            std::int64_t operandPitch, Contract& contract) {
  Step step;
  std::vector<std::int64_t> taps, offsets;
  for (const CellPair& pair : pairs) {
    taps.push_back(pair.k);
    offsets.push_back(pair.offset);
  }
  for (auto* list : {&taps, &offsets}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  for (std::int64_t k : taps)
    step.b.push_back(VectorLoad{static_cast<std::int32_t>(k * lanes.tapBytes() + j * lanes.lanes * 4), {}});
  for (std::int64_t offset : offsets) {
    AOperand operand = cellOperand(lanes, cells, j, offset * operandPitch, contract);
    for (const CellPair& pair : pairs) {
      if (pair.offset != offset) continue;
      const auto tap = std::lower_bound(taps.begin(), taps.end(), pair.k) - taps.begin();
      operand.uses.push_back(Use{static_cast<std::int16_t>(pair.u), static_cast<std::int16_t>(tap)});
    }
    step.a.push_back(std::move(operand));
  }
  return step;
}

}  // namespace

CellKernel makeCellKernel(const CellBlockClass& block, std::int64_t taps) {
  CellKernel kernel;
  kernel.length = block.length;
  std::size_t i = 0;
  while (i < block.pairs.size()) {
    std::size_t end = i;
    const std::int64_t limit = (block.pairs[i].k / taps + 1) * taps;
    std::vector<CellPair> pairs;
    for (; end < block.pairs.size() && block.pairs[end].k < limit; ++end) pairs.push_back(block.pairs[end]);
    CellChunk chunk{0, pairs.front().k, pairs.front().offset};
    for (const CellPair& pair : pairs) chunk.offset = std::min(chunk.offset, pair.offset);
    for (CellPair& pair : pairs) {
      pair.k -= chunk.k;
      pair.offset -= chunk.offset;
    }
    const auto known = std::find(kernel.sections.begin(), kernel.sections.end(), pairs);
    chunk.section = static_cast<int>(known - kernel.sections.begin());
    if (known == kernel.sections.end()) kernel.sections.push_back(std::move(pairs));
    kernel.chunks.push_back(chunk);
    i = end;
  }
  return kernel;
}

Contract cellContract(const CellKernel& kernel, const CellLanes& lanes, std::int64_t cells, const CellRow& operand,
                      const CellRow& result, bool dotProducts) {
  Contract contract;
  contract.vectorsA = operand.element;
  contract.result = result.element;
  contract.dotProducts = dotProducts;
  contract.lanes = lanes.lanes;
  contract.label = "dx_cells" + std::to_string(cells) + "_" + std::to_string(kernel.length) + "s" +
                   std::to_string(kernel.sections.size());
  for (std::int64_t u = 0; u < kernel.length; ++u) {
    contract.accumulators.push_back(Accumulator{static_cast<std::int32_t>(u * result.pitch), lanes.usedLanes(cells)});
  }
  for (const std::vector<CellPair>& pairs : kernel.sections) {
    Section section;
    for (std::int64_t j = 0; j < lanes.cellChannels; ++j)
      section.steps.push_back(stepOf(pairs, lanes, cells, j, operand.pitch, contract));
    contract.sections.push_back(std::move(section));
  }
  return contract;
}

}  // namespace cubejit
