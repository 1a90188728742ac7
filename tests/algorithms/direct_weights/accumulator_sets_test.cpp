// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether microkernels of few sums get as many sets as keep the multipliers busy, and no more than registers and steps allow.
#include "algorithms/direct_weights/lower/accumulator_sets.h"

#include <gtest/gtest.h>

#include "tiling/planner.h"

namespace cubejit {
namespace {

Machine zen5(const HostIsa& isa) {
  Machine m = hostMachine(isa, 2, 48 << 10, 1 << 20, 32 << 20);
  m.rates = ratesOf(HostCore::kZen5);
  return m;
}

// `sums` accumulators that `steps` steps of one vector multiply scalars into.
Contract tile(std::size_t sums, std::size_t steps, std::size_t vectors = 1) {
  Contract c;
  c.accumulators.resize(sums);
  Step step;
  step.b.resize(vectors);
  step.a.resize(sums);
  c.sections.push_back(Section{std::vector<Step>(steps, step), 0, 0});
  return c;
}

TEST(AccumulatorSets, KeepTheMultipliersBusy) {
  const Machine m = zen5(avx512Isa());
  EXPECT_EQ(accumulatorSets(tile(24, 8), m), 1);
  EXPECT_EQ(accumulatorSets(tile(8, 8), m), 1);  // two FMAs a cycle, four cycles
  EXPECT_EQ(accumulatorSets(tile(5, 8), m), 2);
  EXPECT_EQ(accumulatorSets(tile(3, 8), m), 3);
  EXPECT_EQ(accumulatorSets(tile(1, 8), m), 4);  // the most
  Contract pairs = tile(5, 8);
  pairs.products = Products::kPairs;  // six cycles
  EXPECT_EQ(accumulatorSets(pairs, m), 3);
  Machine zen4 = m;
  zen4.rates = ratesOf(HostCore::kZen4);
  EXPECT_EQ(accumulatorSets(tile(5, 8), zen4), 1);  // one FMA a cycle
}

TEST(AccumulatorSets, FitStepsAndRegisters) {
  EXPECT_EQ(accumulatorSets(tile(3, 2), zen5(avx512Isa())), 2);
  EXPECT_EQ(accumulatorSets(tile(3, 1), zen5(avx512Isa())), 1);
  EXPECT_EQ(accumulatorSets(tile(7, 8, 12), zen5(avx512Isa())), 2);
  EXPECT_EQ(accumulatorSets(tile(7, 8, 15), zen5(avx512Isa())), 1);
  EXPECT_EQ(accumulatorSets(tile(6, 8), zen5(avx2Isa())), 1);  // 16 registers
}

}  // namespace
}  // namespace cubejit
