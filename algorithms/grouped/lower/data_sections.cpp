// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides sections and their steps.
#include "algorithms/grouped/lower/data_sections.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cubejit {
namespace {

std::vector<std::int64_t> sortedOnce(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// Channel j of every operand position is loaded once and used by all pairs, and rows, that read it. Blocks take turns at a position:
// their lines lie side by side.
Step stepOf(const GroupSection& section, const GroupKernel& kernel, const GroupLanes& lanes, const GroupUnit& unit,
            std::int64_t j, std::int64_t tapsOfRow, std::int64_t operandPitch, Contract& contract) {
  Step step;
  std::vector<std::int64_t> taps, offsets;
  for (const TapPair& pair : section.pairs) {
    taps.push_back(pair.k);
    offsets.push_back(pair.offset);
  }
  taps = sortedOnce(std::move(taps));
  const auto blocks = static_cast<std::int64_t>(unit.groups.size());
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (const RowUse& row : section.rows) {
      for (const std::int64_t k : taps) {
        const std::int64_t at = block * unit.weightPitch + (row.k * tapsOfRow + k) * lanes.tapBytes();
        step.b.push_back(VectorLoad{static_cast<std::int32_t>(at + j * lanes.lanes * 4), {}});
      }
    }
  }
  const auto weights = static_cast<std::int64_t>(section.rows.size() * taps.size());
  const std::int64_t results = kernel.rows() * kernel.columns();
  for (const std::int64_t offset : sortedOnce(std::move(offsets))) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      AOperand operand = groupOperand(lanes, unit.groups[static_cast<std::size_t>(block)], j,
                                      offset * operandPitch + block * unit.operandPitch, contract);
      for (std::size_t r = 0; r < section.rows.size(); ++r) {
        for (const TapPair& pair : section.pairs) {
          if (pair.offset != offset) continue;
          const auto tap = std::lower_bound(taps.begin(), taps.end(), pair.k) - taps.begin();
          operand.uses.push_back(
              Use{static_cast<std::int16_t>(block * results + section.rows[r].u * kernel.columns() + pair.u),
                  static_cast<std::int16_t>(block * weights + static_cast<std::int64_t>(r * taps.size()) + tap)});
        }
      }
      step.a.push_back(std::move(operand));
    }
  }
  return step;
}

// Whether a result's later taps read earlier rows of the operand.
bool goesBack(const GroupBlockClass& rows) {
  for (const TapPair& x : rows.pairs) {
    for (const TapPair& y : rows.pairs) {
      if (x.u == y.u && x.k < y.k) return y.offset < x.offset;
    }
  }
  return false;
}

// A row of the operand, and the results it feeds.
struct OperandRow {
  std::int64_t at = 0, tap = 0;
  std::vector<RowUse> uses;
};

// In the order in which every result meets its taps one after the other.
std::vector<OperandRow> operandRows(const GroupBlockClass& rows) {
  std::vector<OperandRow> out;
  for (const TapPair& pair : rows.pairs) {  // by tap, then result
    const auto known =
        std::find_if(out.begin(), out.end(), [&](const OperandRow& row) { return row.at == pair.offset; });
    if (known != out.end())
      known->uses.push_back({pair.u, pair.k - known->tap});
    else
      out.push_back(OperandRow{pair.offset, pair.k, {{pair.u, 0}}});
  }
  const bool back = goesBack(rows);
  std::sort(out.begin(), out.end(),
            [&](const OperandRow& x, const OperandRow& y) { return back ? x.at > y.at : x.at < y.at; });
  return out;
}

}  // namespace

GroupKernel::GroupKernel(std::int64_t rows, const GroupBlockClass& columns, std::int64_t taps)
    : rows_(rows), taps_(taps), columns_(columns) {}

std::vector<TapRun> GroupKernel::runsOf(const GroupBlockClass& rows) {
  std::vector<TapRun> runs;
  for (const OperandRow& row : operandRows(rows)) {
    for (std::size_t i = 0; i < columns_.pairs.size();) {
      const std::int64_t limit = (columns_.pairs[i].k / taps_ + 1) * taps_;
      GroupSection section{row.uses, {}};
      for (; i < columns_.pairs.size() && columns_.pairs[i].k < limit; ++i) section.pairs.push_back(columns_.pairs[i]);
      TapRun run{0, row.tap, row.at, section.pairs.front().k, section.pairs.front().offset};
      for (const TapPair& pair : section.pairs) run.column = std::min(run.column, pair.offset);
      for (TapPair& pair : section.pairs) {
        pair.k -= run.columnTap;
        pair.offset -= run.column;
      }
      const auto known = std::find(sections_.begin(), sections_.end(), section);
      run.section = static_cast<int>(known - sections_.begin());
      if (known == sections_.end()) sections_.push_back(std::move(section));
      runs.push_back(run);
    }
  }
  return runs;
}

Contract groupedDataKernel(const GroupKernel& kernel, const GroupLanes& lanes, const GroupUnit& unit,
                           std::int64_t tapsOfRow, const KernelRow& operand, const KernelRow& result,
                           bool dotProducts) {
  Contract contract;
  contract.vectorsA = operand.element;
  contract.result = result.element;
  contract.products = dotProducts ? Products::kPairs : Products::kF32;
  contract.lanes = lanes.lanes;
  contract.label = "dx_grouped" + unitLabel(unit.groups) + "_" +
                   (kernel.rows() > 1 ? std::to_string(kernel.rows()) + "x" : "") + std::to_string(kernel.columns()) +
                   "s" + std::to_string(kernel.sections().size());
  for (std::size_t block = 0; block < unit.groups.size(); ++block) {
    for (std::int64_t row = 0; row < kernel.rows(); ++row) {
      for (std::int64_t u = 0; u < kernel.columns(); ++u) {
        const std::int64_t at =
            static_cast<std::int64_t>(block) * unit.resultPitch + row * result.rowPitch + u * result.pitch;
        Accumulator acc{static_cast<std::int32_t>(at),
                        lanes.usedLanes(std::max(unit.groups[block], unit.storedGroups))};
        if (unit.groups[block] < unit.storedGroups) acc.sums = lanes.usedLanes(unit.groups[block]);
        contract.accumulators.push_back(acc);
      }
    }
  }
  for (const GroupSection& pairs : kernel.sections()) {
    Section section;
    for (std::int64_t j = 0; j < lanes.permutedChannels; ++j)
      section.steps.push_back(stepOf(pairs, kernel, lanes, unit, j, tapsOfRow, operand.pitch, contract));
    contract.sections.push_back(std::move(section));
  }
  return contract;
}

}  // namespace cubejit
