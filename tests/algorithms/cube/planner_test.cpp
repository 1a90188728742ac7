// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the NPU planner, over thousands of random problems: its plans are legal, fit every buffer and compute
// every result from all of its sum exactly once; on real layers they are no worse than any candidate, and quick to find.
#include "algorithms/cube/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>
#include <set>

#include "algorithms/cube/candidates.h"
#include "algorithms/cube/rules.h"
#include "cubejit/machines.h"
#include "cubejit/machines/toy.h"
#include "runtime/text/json_problem.h"
#include "runtime/verify/random_problem.h"
#include "tests/algorithms/cube/cube_plans.h"

namespace cubejit {
namespace {

// Intervals that pieces of `all` pixels cover, for tasks of `pixels`: whole rows or parts of one.
std::vector<std::pair<std::int64_t, std::int64_t>> pixelPieces(const CubeWork& w, std::int64_t pixels) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  const std::int64_t all = w.pixels.h * w.pixels.w;
  if (pixels >= w.row()) {
    for (std::int64_t at = 0; at < all; at += pixels) pieces.emplace_back(at, std::min(at + pixels, all));
    return pieces;
  }
  for (std::int64_t h = 0; h < w.pixels.h; ++h)
    for (std::int64_t at = 0; at < w.row(); at += pixels)
      pieces.emplace_back(h * w.row() + at, h * w.row() + std::min(at + pixels, w.row()));
  return pieces;
}

std::vector<std::pair<std::int64_t, std::int64_t>> pieces(std::int64_t all, std::int64_t piece) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (std::int64_t at = 0; at < all; at += piece) out.emplace_back(at, std::min(at + piece, all));
  return out;
}

// Visits every base block of every task of one image, group and depth, and counts each (m, k, n) volume once.
void expectCoveredOnce(const CubeWork& w, const TilingPlan& plan) {
  const bool dx = w.pass == Pass::kDx;
  const Mkn& s = plan.cube().singleShape;
  const std::int64_t taskK = dx ? s.k / w.kernel.d : 0;
  const auto ms = dx ? pixelPieces(w, s.m) : pieces(w.gemm.m, s.m);
  const auto ks = dx ? pieces(w.gemm.k, taskK) : pixelPieces(w, s.k);
  const auto ns = pieces(w.gemm.n, s.n);
  const CoreSplit& c = plan.cube().cores;
  ASSERT_EQ(static_cast<std::int64_t>(ms.size()), dx ? c.rows : c.channelsM);
  ASSERT_EQ(static_cast<std::int64_t>(ks.size()), c.reduction);
  ASSERT_EQ(static_cast<std::int64_t>(ns.size()), c.channelsN);
  ASSERT_EQ(c.batch, w.batch);
  ASSERT_EQ(c.groups, w.groups.count);
  ASSERT_EQ(c.depth * c.tapsD, w.depths);
  std::vector<std::int64_t> summed(static_cast<std::size_t>(w.gemm.m * w.gemm.n), 0);
  const CubeTile& t = plan.cube().tile;
  for (const auto& [m0, m1] : ms)
    for (const auto& [n0, n1] : ns)
      for (const auto& [k0, k1] : ks)
        for (std::int64_t n = n0; n < n1; n += t.base.n)
          for (std::int64_t m = m0; m < m1; m += t.base.m) {
            std::int64_t sum = 0;
            for (std::int64_t k = k0; k < k1; k += t.base.k) sum += std::min(t.base.k, k1 - k);
            for (std::int64_t i = m; i < std::min(m + t.base.m, m1); ++i)
              for (std::int64_t j = n; j < std::min(n + t.base.n, n1); ++j)
                summed[static_cast<std::size_t>(i * w.gemm.n + j)] += sum;
          }
  for (const std::int64_t sum : summed) ASSERT_EQ(sum, w.gemm.k);
}

void expectFits(const CubeWork& w, const TilingPlan& plan, const Machine& m) {
  const CubeFootprint f = footprintOf(w, plan);
  ASSERT_LE(f.l0a, m.buffers.l0aBytes);
  ASSERT_LE(f.l0b, m.buffers.l0bBytes);
  ASSERT_LE(f.l0c, m.buffers.l0cBytes);
  ASSERT_LE(f.l1, m.buffers.l1Bytes);
}

TEST(CubePlanner, PlansOfRandomProblemsCoverEverythingOnceAndFit) {
  std::mt19937_64 random(2026);
  const Machine machines[] = {toyMachine(), *machineByName("ascend910b2"), *machineByName("ascend310p3"),
                              *machineByName("ascend950pr_950z")};
  constexpr DType kTypes[] = {DType::kF16, DType::kBf16, DType::kF32, DType::kHf32};
  int planned = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Problem p = randomProblem(random, 1e5);
    if (p.batch == 0) continue;
    const Machine& m = machines[random() % 4];
    p.dtype = kTypes[random() % 4];
    const Pass pass = random() % 2 == 0 ? Pass::kDx : Pass::kDw;
    const CubeKernels kernels = random() % 2 == 0 ? CubeKernels::kAscendC : CubeKernels::kOwn;
    if (!checkChip(p, pass, m).empty()) {
      ++refused;
      continue;
    }
    const CubeWork w = cubeWorkOf(p, pass, m, kernels);
    const auto choice = chooseCubePlan(w, m, false);
    if (!choice.ok()) {  // the toy is small
      ASSERT_EQ(m.name, "toy") << choice.error().message;
      ++refused;
      continue;
    }
    ASSERT_TRUE(checkCubePlan(w, choice->plan, m).empty());
    expectCoveredOnce(w, choice->plan);
    expectFits(w, choice->plan, m);
    if (HasFatalFailure()) return;
    ++planned;
  }
  EXPECT_GT(planned, 1800) << refused << " refused";
}

TEST(CubePlanner, TheChoiceIsTheCheapestLegalCandidate) {
  const Machine m = *machineByName("ascend910b2");
  Problem p = handProblem();
  p.cin = 256, p.cout = 512, p.in = p.out = Dhw{5, 32, 32};
  for (const Pass pass : {Pass::kDx, Pass::kDw}) {
    const CubeWork w = cubeWorkOf(p, pass, m);
    const auto choice = chooseCubePlan(w, m, true);
    ASSERT_TRUE(choice.ok());
    std::int64_t legal = 0;
    visitCubeCandidates(
        w, m, {},
        [&](const TilingPlan& plan) {
          if (!checkCubePlan(w, plan, m).empty()) return;
          ++legal;
          EXPECT_GE(cubeCost(w, plan, m).totalCycles, choice->cost.totalCycles);
        },
        [&](const LeastCost& least) { return least.total() < 1.1 * choice->cost.totalCycles; });
    EXPECT_GT(legal, choice->legal);
    EXPECT_GT(legal, 100);
    ASSERT_FALSE(choice->best.empty());
    EXPECT_EQ(choice->best.front().cost.totalCycles, choice->cost.totalCycles);
    for (std::size_t i = 1; i < choice->best.size(); ++i)
      EXPECT_LE(choice->best[i - 1].cost.totalCycles, choice->best[i].cost.totalCycles);
  }
}

// A larger buffer takes no plan away, whichever it is: what fitted before is tried as it was.
TEST(CubePlanner, MoreMemoryNeverCostsCycles) {
  std::mt19937_64 random(11);
  constexpr std::int64_t Buffers::* kBuffers[] = {&Buffers::l0aBytes, &Buffers::l0bBytes, &Buffers::l0cBytes,
                                                  &Buffers::l1Bytes,  &Buffers::l2Bytes,  &Buffers::ubBytes};
  std::vector<Problem> problems = *readSuite(std::string(CUBEJIT_SOURCE_DIR) + "/bench/shapes/landscape.jsonl");
  while (problems.size() < 200) {
    problems.push_back(randomProblem(random, 1e7));
    Problem& p = problems.back();
    p.batch = std::max<std::int64_t>(1, p.batch);
    p.cin *= 8, p.cout *= 8;
  }
  std::int64_t cheaper = 0;
  for (Problem& p : problems) {
    p.dtype = DType::kF16;
    for (const char* name : {"ascend310p3", "ascend910a", "ascend910b2", "ascend910_9391", "ascend950pr_9599"}) {
      Machine m = *machineByName(name);
      std::int64_t Buffers::* buffer = kBuffers[random() % std::size(kBuffers)];
      const std::int64_t bytes = m.buffers.*buffer;
      const Pass pass = random() % 2 == 0 ? Pass::kDx : Pass::kDw;
      double before = std::numeric_limits<double>::infinity();
      for (const std::int64_t size : {bytes / 2, bytes, 2 * bytes}) {
        m.buffers.*buffer = size;
        const auto choice = chooseCubePlan(cubeWorkOf(p, pass, m), m, false);
        if (!choice.ok()) {
          ASSERT_EQ(before, std::numeric_limits<double>::infinity());
          continue;
        }
        EXPECT_LE(choice->cost.totalCycles, before * (1 + 1e-9)) << p.name << " " << name << " " << size;
        cheaper += choice->cost.totalCycles < before ? 1 : 0;
        before = choice->cost.totalCycles;
      }
    }
  }
  EXPECT_GT(cheaper, 1050);  // a plan each, and some that a larger buffer made cheaper
}

// What cannot win is left out where nobody asks for an explanation; the winner is the same.
TEST(CubePlanner, LookingAtLessChangesNoChoice) {
  std::mt19937_64 random(4);
  std::int64_t looked = 0, all = 0;
  for (int i = 0; i < 60; ++i) {
    Problem p = randomProblem(random, 1e9);
    p.batch = std::max<std::int64_t>(1, p.batch);
    p.cin *= 8, p.cout *= 8;
    const Machine m = *machineByName(i % 2 == 0 ? "ascend950pr_9599" : "ascend310p3");
    p.dtype = DType::kF16;
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      const CubeWork w = cubeWorkOf(p, pass, m, i % 3 == 0 ? CubeKernels::kAscendC : CubeKernels::kOwn);
      const auto quick = chooseCubePlan(w, m, false), slow = chooseCubePlan(w, m, true);
      ASSERT_EQ(quick.ok(), slow.ok());
      if (!quick.ok()) continue;
      EXPECT_EQ(quick->cost.totalCycles, slow->cost.totalCycles);
      EXPECT_EQ(quick->cost.slowestCore, slow->cost.slowestCore);
      looked += quick->legal;
      all += slow->legal;
    }
  }
  EXPECT_LT(looked, all);
}

TEST(CubePlanner, LongSumsOfFewF32ResultsAreCutAndOthersAreNot) {
  const Machine m = *machineByName("ascend910b2");
  Problem p = handProblem();
  p.batch = 1, p.cin = 16, p.cout = 8192, p.in = p.out = Dhw{1, 4, 4};
  p.dtype = DType::kF32;
  const CubeWork f32 = cubeWorkOf(p, Pass::kDx, m);
  const auto cut = chooseCubePlan(f32, m, false);
  ASSERT_TRUE(cut.ok());
  EXPECT_GT(cut->plan.cube().cores.reduction, 1);
  expectCoveredOnce(f32, cut->plan);
  p.dtype = DType::kF16;
  const auto whole = chooseCubePlan(cubeWorkOf(p, Pass::kDx, m), m, false);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->plan.cube().cores.reduction, 1);
}

TEST(CubePlanner, GivenExtentsOfATaskAreKept) {
  const Machine m = *machineByName("ascend910b2");
  const CubeWork w = cubeWorkOf(handProblem(), Pass::kDw, m, CubeKernels::kAscendC);
  CubeFixed fixed;
  fixed.singleShape = Mkn{32, 32, 144};
  const auto choice = chooseCubePlan(w, m, false, fixed);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->plan.cube().singleShape, fixed.singleShape);
}

TEST(CubePlanner, WhatDoesNotFitIsToldByBuffer) {
  Machine m = toyMachine();
  m.buffers.l1Bytes = 1024;
  const auto none = chooseCubePlan(cubeWorkOf(handProblem(), Pass::kDx, m), m, false);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNoFeasiblePlan);
  EXPECT_NE(none.error().message.find("L1 (A "), std::string::npos) << none.error().message;
  EXPECT_NE(none.error().message.find("toy has 1024"), std::string::npos);
}

TEST(CubePlanner, EverySizeOfChipGivesItsCoresWork) {
  Problem p = handProblem();
  p.batch = 1, p.cin = 256, p.cout = 256, p.in = p.out = Dhw{1, 128, 128};
  for (const char* name : {"ascend310p3", "ascend910a", "ascend910b2", "ascend950pr_9599"}) {
    const Machine m = *machineByName(name);
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      const CubeWork w = cubeWorkOf(p, pass, m);
      const auto choice = chooseCubePlan(w, m, false);
      ASSERT_TRUE(choice.ok());
      EXPECT_GT(choice->cost.meanCore / choice->cost.totalCycles, 0.6) << name << " " << toString(pass);
    }
  }
}

}  // namespace
}  // namespace cubejit
