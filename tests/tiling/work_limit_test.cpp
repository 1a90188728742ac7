// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does planning and lowering end soon for every problem, with a program of bounded size or an error that says what there is too much of?
#include "tiling/work_limit.h"

#include <gtest/gtest.h>

#include <random>

#include "algorithms/lower.h"
#include "cubejit/cubejit.hpp"
#include "runtime/text/problem_text.h"
#include "tiling/check_problem.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

std::int64_t sizeOf(const TileProgram& program) {
  std::int64_t size = 0;
  for (const Phase& phase : program.phases) {
    for (const Axis& axis : phase.axes) size += static_cast<std::int64_t>(axis.steps.size());
  }
  for (const SegmentList& list : program.lists) {
    for (const auto& section : list) size += static_cast<std::int64_t>(section.size());
  }
  return size;
}

// Hangs where something is enumerated without a bound; the test's time limit sees that.
void endsSoon(const Problem& problem, const Machine& machine) {
  if (!checkProblem(problem).ok()) return;
  for (const Pass pass : kPasses) {
    const auto choice = choosePlan(problem, pass, machine, false);
    const auto program = choice.ok() ? lower(problem, choice->plan, machine) : Result<TileProgram>(choice.error());
    if (program.ok()) {
      EXPECT_LE(sizeOf(*program), 2 * kMostSteps) << toFlags(problem) << " " << toString(pass);
    } else {
      EXPECT_TRUE(program.error().code == ErrorCode::kLimitExceeded ||
                  program.error().code == ErrorCode::kNoFeasiblePlan)
          << toFlags(problem) << " " << toString(pass) << ": " << program.error().message;
    }
  }
}

TEST(WorkLimit, ProblemsThatWereLongInPlanning) {
  const Machine machine = detectHost(IsaLevel::kAvx2);
  struct Case {
    const char *input, *weight, *stride, *padding, *dilation;
    std::int64_t groups;
    bool transposed;
    const char* outputPadding;
  };
  const Case cases[] = {
      {"1,1,1,1", "1,1,1,1", "1", "300000", "1", 1, false, ""},
      {"1,1,1000000", "1,1,1000000", "1", "0", "1", 1, false, ""},
      {"3,64,17,56,9", "64,1,64,7,2", "64,60,57", "9,2,0", "19,2,3", 32, true, "63,0,0"},
      {"1,8,9,9", "16777216,8,3,3", "1", "1", "1", 1, false, ""},
      {"1,8,1000000000", "8,8,3", "1", "1", "1", 1, false, ""},
      {"268435456,8,9,9", "8,8,3,3", "1", "1", "1", 1, false, ""},
      {"1,1,30000,30000", "1,1,30000,30000", "1", "0", "1", 1, false, ""},
      {"1,1,5,5", "1,1,3000,3000", "1", "0", "1", 1, true, ""},
      {"1,1,60000", "1,1,60000", "59999", "0", "7", 1, true, ""},
      {"2,64000,28,28,1", "1024,1000,2,1,1", "1", "292,12531,0", "263,1,4", 64, false, ""},
      {"2,8,1,14,1668965", "1,8,1,3,3", "1", "0,1,1", "1", 1, false, ""},
      {"7,128,4,28", "320,2,3,1", "2,1", "1,1865580", "2,1", 64, false, ""},
  };
  for (const Case& c : cases) {
    for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc}) {
      ProblemFlags flags;
      flags.input = c.input, flags.weight = c.weight, flags.stride = c.stride, flags.padding = c.padding;
      flags.dilation = c.dilation, flags.groups = c.groups, flags.transposed = c.transposed;
      flags.outputPadding = c.outputPadding;
      auto problem = parseProblemFlags(flags);
      ASSERT_TRUE(problem.ok()) << problem.error().message;
      problem->layout = layout;
      endsSoon(*problem, machine);
    }
  }
}

TEST(WorkLimit, RandomProblemsOfAllOrdersOfMagnitude) {
  const Machine machine = detectHost(IsaLevel::kAvx2);
  std::mt19937_64 random(3);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  const auto size = [&]() -> std::int64_t {
    const std::int64_t most[] = {3, 9, 60, 1000, 100000, 3000000};
    return 1 + below(most[below(6)]);
  };
  const auto any = [&](std::int64_t usual) { return below(3) == 0 ? size() : usual; };
  for (int i = 0; i < 100; ++i) {
    Problem p;
    p.rank = 3;
    p.groups = below(4) == 0 ? any(4) : 1;
    p.cin = p.groups * any(8), p.cout = p.groups * any(16), p.batch = any(2);
    p.transposed = below(3) == 0;
    p.layout = below(2) == 0 ? Layout::kNcdhw : Layout::kNdhwc;
    for (int a = static_cast<int>(below(3)); a < 3; ++a) {
      p.in[a] = any(14), p.kernel[a] = any(3), p.stride[a] = any(1), p.dilation[a] = any(1);
      p.padBefore[a] = p.padAfter[a] = any(2) - 1;
      const std::int64_t reach = p.dilation[a] * (p.kernel[a] - 1), pads = p.padBefore[a] + p.padAfter[a];
      p.out[a] = p.transposed ? (p.in[a] - 1) * p.stride[a] - pads + reach + 1
                              : (p.in[a] + pads - reach - 1) / p.stride[a] + 1;
    }
    endsSoon(p, machine);
  }
}

}  // namespace
}  // namespace cubejit
