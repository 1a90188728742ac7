// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that weight gradients whose first block of rows copies its lanes for the others are exact: strides, padding, tails of lanes and
// of rows, odd pairs, parts of rows and of pixels, private sums and sums in dw, every type and layout, 1 and 2 threads (bit-identical),
// each backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "algorithms/direct_weights/direct_weights.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

class Random {
 public:
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(rng_() % static_cast<std::uint64_t>(n)); }

  Problem pointwise() {
    Problem p;
    p.rank = static_cast<int>(1 + below(3));
    p.batch = 1 + below(4);
    p.groups = 1 + below(2);
    p.cin = p.groups * (1 + below(40));
    p.cout = p.groups * (1 + below(40));
    for (int axis = 3 - p.rank; axis < 3; ++axis) {
      p.stride[axis] = 1 + below(2);
      p.padBefore[axis] = p.padAfter[axis] = below(4) == 0 ? 1 : 0;
      p.in[axis] = 1 + below(7);
      p.out[axis] = (p.in[axis] + 2 * p.padBefore[axis] - 1) / p.stride[axis] + 1;
    }
    return p;
  }

  std::mt19937_64 rng_{7};
};

// How many plans of random pointwise problems were verified.
int verifyPlans(IsaLevel level, DType dtype, BackendKind backend, int problems) {
  Options options = eagerOptions(level);
  options.backend = backend;
  Session session(options);
  const Machine machine = machineOfSmallL2(level);
  constexpr std::array kLayouts{Layout::kNdhwc, Layout::kNcdhw, Layout::kNdc1hwc0};
  Random random;
  int plans = 0;
  for (int i = 0; i < problems; ++i) {
    Problem problem = random.pointwise();
    problem.dtype = dtype;
    problem.layout = kLayouts[static_cast<std::size_t>(random.below(10)) % (i % 3 == 0 ? 3 : 1)];
    std::vector<DirectWeightsPlan> candidates = weightCandidates(problem, machine);
    std::shuffle(candidates.begin(), candidates.end(), random.rng_);
    int left = 12;
    for (DirectWeightsPlan plan : candidates) {
      plan.packB = PackVectors::kFirstUse;
      plan.order = IterateOrder::kPixelsOuter;
      if (left == 0 || !checkPlan(problem, plan, machine).empty()) continue;
      --left;
      ++plans;
      if (!planIsRight(session, problem, plan, static_cast<std::uint64_t>(i))) return plans;
    }
  }
  return plans;
}

TEST(FirstTouch, AllPlansAreRight) {
  for (const IsaLevel level : {IsaLevel::kAvx512Bf16, IsaLevel::kAvx512, IsaLevel::kAvx2}) {
    if (!hostRuns(level)) continue;
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16})
      EXPECT_GT(verifyPlans(level, dtype, BackendKind::kXbyak, 24), 100) << toString(level) << " " << toString(dtype);
  }
}

TEST(FirstTouch, InterpretersAgree) {
  for (const BackendKind backend : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    const IsaLevel level = hostRuns(IsaLevel::kAvx512Bf16) ? IsaLevel::kAvx512Bf16 : IsaLevel::kAvx2;
    for (const DType dtype : {DType::kF32, DType::kBf16})
      EXPECT_GT(verifyPlans(level, dtype, backend, 8), 40) << toString(backend);
  }
}

}  // namespace
}  // namespace cubejit
