// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that every algorithm has complete, costed plans for ordinary problems.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/algorithm.h"
#include "algorithms/kit/reorder.h"
#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

TEST(Candidates, AreCompleteSomeAreLegalAndCostsArePositive) {
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    const Machine machine = hostOf(level);
    for (const Algorithm* algorithm : algorithms()) {
      for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
        if (algorithm->pass != pass) continue;
        int legal = 0;
        for (const std::int64_t groups : {1, 64}) {
          for (const Layout layout : {Layout::kNdhwc, Layout::kNcdhw}) {
            Problem p = layer(layout);
            p.groups = groups;
            p.math = MathMode::kRelaxed;
            for (const Candidates& candidates : algorithm->candidates(p, machine)) {
              const Problem core = coreProblem(p, pass, candidates.reorders);
              for (const TilingPlan& plan : candidates.plans) {
                EXPECT_EQ(plan.pass, pass);
                EXPECT_EQ(algorithmOf(plan), algorithm);
                const std::vector<std::string> broken = checkPlan(p, plan, machine);
                for (const std::string& rule : broken)
                  EXPECT_EQ(rule.find("must be at least 1"), std::string::npos) << rule;
                if (!broken.empty()) continue;
                ++legal;
                EXPECT_GT(algorithm->cost(core, plan, machine).totalCycles, 0);
              }
            }
          }
        }
        EXPECT_GT(legal, 0) << algorithm->name << " " << toString(pass) << " " << toString(level);
      }
    }
  }
}

}  // namespace
}  // namespace cubejit
