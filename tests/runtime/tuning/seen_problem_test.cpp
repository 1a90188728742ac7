// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is what is kept for a problem found by everybody who has that problem, however they spell it, and by nobody who has another one?
#include "runtime/tuning/seen_problem.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "runtime/tuning/json_record.h"
#include "runtime/tuning/pins.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

Problem randomWithPostOps(std::mt19937_64& random) {
  Problem p = randomProblem(random);
  randomFormats(random, p, true, true);
  randomPostOps(random, p);
  return p;
}

// All formats one by one, and a common type and layout that say nothing.
Problem spelledOut(const Problem& p) {
  Problem out = p;
  for (const TensorId t : kTensorIds) out.formats[static_cast<std::size_t>(t)] = formatOf(p, t);
  out.dtype = DType::kF16;
  out.layout = Layout::kNcdhw;
  return out;
}

TEST(SeenProblem, IsOneHoweverItIsSpelled) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    const Problem p = randomWithPostOps(random);
    for (const Pass pass : kPasses) {
      const Problem seen = seenProblem(p, pass);
      EXPECT_EQ(problemIdentity(seenProblem(spelledOut(p), pass)), problemIdentity(seen));
      EXPECT_EQ(problemIdentity(seenProblem(seen, pass)), problemIdentity(seen));
    }
  }
}

TEST(SeenProblem, KeepsWhatTheRunTouchesAndNothingElse) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 500; ++i) {
    const Problem p = randomWithPostOps(random);
    for (const Pass pass : kPasses) {
      const Problem seen = seenProblem(p, pass);
      for (const TensorId t : kTensorIds) {
        const bool touched = t == resultOf(pass) || passesRead(p, maskOf(pass), t);
        EXPECT_TRUE(!touched || formatOf(seen, t) == formatOf(p, t)) << toString(pass) << " " << toString(t);
        Problem changed = p;
        TensorFormat other = formatOf(p, t);
        other.dtype = other.dtype == DType::kBf16 ? DType::kF16 : DType::kBf16;
        changed.formats[static_cast<std::size_t>(t)] = other;
        EXPECT_EQ(seenProblem(changed, pass) == seen, !touched) << toString(pass) << " " << toString(t);
      }
      EXPECT_EQ(seen.postOps.activation, p.postOps.activation);
      EXPECT_EQ(seen.postOps.bias, pass == Pass::kY && p.postOps.bias);
      EXPECT_EQ(seen.postOps.add, pass == Pass::kY && p.postOps.add);
    }
  }
}

TEST(SeenProblem, OneSpellingIsWrittenAsItEverWas) {
  Problem p = smallConvolution(32);
  p.dtype = DType::kBf16;
  for (const Pass pass : kPasses) EXPECT_EQ(problemIdentity(seenProblem(p, pass)), problemIdentity(p));
}

TEST(SeenProblem, PinsAreFoundByIt) {
  const ScratchFolder folder("pins");
  const std::string path = folder.file("pins.jsonl");
  const Problem p = smallConvolution(32);
  const TilingPlan plan(Pass::kDx, CubePlan{});
  ASSERT_TRUE(addPin(path, p, plan, "avx2").ok());
  EXPECT_TRUE(findPin(path, spelledOut(p), Pass::kDx, "avx2")->has_value());
  EXPECT_FALSE(findPin(path, smallConvolution(16), Pass::kDx, "avx2")->has_value());
}

}  // namespace
}  // namespace cubejit
