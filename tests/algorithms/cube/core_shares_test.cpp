// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the cores' shares: sums over runs of tasks equal those of visiting each task.
#include "algorithms/cube/core_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cubejit/machines/toy.h"
#include "tests/algorithms/cube/cube_plans.h"

namespace cubejit {
namespace {

struct Case {
  CubeWork work;
  TilingPlan plan;
};

Case randomCase(std::mt19937_64& random) {
  const auto upTo = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)) + 1;
  };
  Problem p = handProblem();
  p.batch = upTo(3);
  p.groups = upTo(2);
  p.cin = p.groups * 16 * upTo(3), p.cout = p.groups * 16 * upTo(3);
  p.kernel.d = upTo(3);
  p.in = Dhw{p.kernel.d + upTo(4), upTo(9), 16};
  p.out = Dhw{p.in.d - p.kernel.d + 1, p.in.h, 16};
  Case c{cubeWorkOf(p, random() % 2 == 0 ? Pass::kDx : Pass::kDw, toyMachine()), {}};
  c.plan = handPlan(c.work);
  const std::int64_t rows = upTo(4) * 16;
  if (c.work.pass == Pass::kDx)
    c.plan.cube().singleShape = Mkn{rows, c.work.gemm.k * p.kernel.d, 16 * upTo(3)};
  else
    c.plan.cube().singleShape = Mkn{16 * upTo(3), rows, c.work.blockUnit() * upTo(3)};
  c.plan.cube().cores = splitOf(c.work, c.plan.cube().singleShape);
  return c;
}

// The tasks one after the other, with the kind of each.
std::vector<CoreShares::Kind> listed(const Case& c) {
  const CubeWork& w = c.work;
  const bool dx = w.pass == Pass::kDx;
  const CoreSplit& s = c.plan.cube().cores;
  const std::int64_t outer = dx ? s.rows : s.reduction, middle = dx ? s.reduction : s.channelsN,
                     inner = dx ? s.channelsN : s.channelsM;
  const std::int64_t pixels = dx ? c.plan.cube().singleShape.m : c.plan.cube().singleShape.k;
  const bool outerTail = w.gemm.m > 0 && (w.pixels.h * w.pixels.w) % pixels != 0;
  const bool middleTail = dx ? false : w.gemm.n % c.plan.cube().singleShape.n != 0;
  const bool innerTail = dx ? w.gemm.n % c.plan.cube().singleShape.n != 0 : w.gemm.m % c.plan.cube().singleShape.m != 0;
  std::vector<CoreShares::Kind> tasks;
  for (std::int64_t g = 0; g < w.groups.count; ++g)
    for (std::int64_t p = 0; p < outer; ++p)
      for (std::int64_t b = 0; b < w.batch; ++b)
        for (std::int64_t d = 0; d < w.depths; ++d)
          for (std::int64_t q = 0; q < middle; ++q)
            for (std::int64_t r = 0; r < inner; ++r)
              tasks.push_back({outerTail && p == outer - 1 ? 1 : 0, w.depthKinds.kindOf[static_cast<std::size_t>(d)],
                               middleTail && q == middle - 1 ? 1 : 0, innerTail && r == inner - 1 ? 1 : 0});
  return tasks;
}

TEST(CoreShares, SumsOfRunsAreThoseOfTheirTasks) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 300; ++i) {
    const Case c = randomCase(random);
    CoreShares shares(c.work, c.plan);
    std::vector<double> costOfKind;
    const auto costOf = [](const CoreShares::Kind& k) {
      return 1.0 + 3 * k.outer + 10 * k.depth + 100 * k.middle + 1000 * k.inner;
    };
    double counted = 0;
    CoreShares::Kind kind;
    for (kind.outer = 0; kind.outer < shares.kindsOf(0); ++kind.outer)
      for (kind.depth = 0; kind.depth < static_cast<int>(c.work.depthKinds.meets.size()); ++kind.depth)
        for (kind.middle = 0; kind.middle < shares.kindsOf(1); ++kind.middle)
          for (kind.inner = 0; kind.inner < shares.kindsOf(2); ++kind.inner) {
            shares.setCost(kind, costOf(kind));
            counted += shares.countOf(kind);
          }
    shares.sum();
    const std::vector<CoreShares::Kind> tasks = listed(c);
    ASSERT_EQ(shares.tasks(), static_cast<std::int64_t>(tasks.size()));
    ASSERT_EQ(shares.tasks(), c.plan.cube().cores.tasks());
    ASSERT_DOUBLE_EQ(counted, static_cast<double>(tasks.size()));
    std::vector<double> first = {0};  // costs of the first 0, 1, 2, ... tasks
    for (const CoreShares::Kind& task : tasks) first.push_back(first.back() + costOf(task));
    ASSERT_NEAR(shares.total(), first.back(), 1e-6);
    for (const std::int64_t cores :
         {std::int64_t{1}, std::int64_t{2}, std::int64_t{7}, std::int64_t{24}, shares.tasks(), shares.tasks() + 3}) {
      const std::vector<double> each = shares.perCore(cores);
      ASSERT_EQ(each.size(), static_cast<std::size_t>(cores));
      std::int64_t begin = 0;
      for (std::int64_t core = 0; core < cores; ++core) {
        const std::int64_t end = begin + shares.tasks() / cores + (core < shares.tasks() % cores ? 1 : 0);
        ASSERT_NEAR(each[static_cast<std::size_t>(core)],
                    first[static_cast<std::size_t>(end)] - first[static_cast<std::size_t>(begin)], 1e-6)
            << core << " of " << cores;
        begin = end;
      }
      ASSERT_EQ(shares.slowestCore(cores, 1e18), *std::max_element(each.begin(), each.end()));
    }
  }
}

}  // namespace
}  // namespace cubejit
