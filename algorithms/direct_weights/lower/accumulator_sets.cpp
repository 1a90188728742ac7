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
  for (const Section& section : contract.sections) {
    for (const Step& step : section.steps) widest = std::max(widest, step.b.size());
  }
  return static_cast<std::int64_t>(widest) + (isa.maskRegs > 0 ? 4 : 5);
}

}  // namespace

int accumulatorSets(const Contract& contract, const Machine& machine) {
  const auto sums = static_cast<std::int64_t>(contract.accumulators.size());
  std::size_t steps = 0;
  for (const Section& section : contract.sections) steps = std::max(steps, section.steps.size());
  const std::int64_t room = (machine.isa.vectorRegs - registersBeside(contract, machine.isa)) / sums;
  const std::int64_t wanted = setsOfSums(sums, contract.products == Products::kPairs, machine);
  return static_cast<int>(std::max<std::int64_t>(1, std::min({wanted, room, static_cast<std::int64_t>(steps)})));
}

}  // namespace cubejit
