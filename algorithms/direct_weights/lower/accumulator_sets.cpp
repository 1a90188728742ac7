// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "algorithms/direct_weights/lower/accumulator_sets.h"

#include <algorithm>
#include <cmath>

#include "algorithms/direct_weights/sums_in_flight.h"

namespace cubejit {
namespace {

// Vector registers beside the accumulators: the widest step's vectors of B, and temporaries.
std::int64_t registersBeside(const Contract& contract, const HostIsa& isa) {
  std::size_t widest = 0;
  bool permutes = false;
  for (const Section& section : contract.sections) {
    for (const Step& step : section.steps) {
      widest = std::max(widest, step.b.size());
      permutes = permutes || std::any_of(step.a.begin(), step.a.end(), [](const AOperand& a) {
                   return a.kind != AKind::kBroadcast && a.kind != AKind::kVector;
                 });
    }
  }
  const std::int64_t temporaries = (permutes ? 3 : 1) + (isa.maskRegs > 0 ? 3 : 4);
  return static_cast<std::int64_t>(widest + contract.tables.size()) + temporaries;
}

}  // namespace

int accumulatorSets(const Contract& contract, const Machine& machine) {
  const auto sums = static_cast<std::int64_t>(contract.accumulators.size());
  std::size_t steps = 0;
  for (const Section& section : contract.sections) steps = std::max(steps, section.steps.size());
  const std::int64_t room = (machine.isa.vectorRegs - registersBeside(contract, machine.isa)) / sums;
  const std::int64_t wanted = setsOfSums(sums, contract.dotProducts, machine);
  return static_cast<int>(std::max<std::int64_t>(1, std::min({wanted, room, static_cast<std::int64_t>(steps)})));
}

}  // namespace cubejit
