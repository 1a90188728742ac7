// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that data gradients whose taps along W share scalars are exact: boxes and edges of every kind, strides, dilation, lines, groups,
// tails of channels, transposed convolutions, every type and layout, 1 and 2 threads (bit-identical), each backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "algorithms/direct_data/direct_data.h"
#include "tests/support/random_convolution.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// How many plans of random problems were verified.
int verifyPlans(IsaLevel level, DType dtype, BackendKind backend, int problems) {
  Options options = eagerOptions(level);
  options.backend = backend;
  Session session(options);
  const Machine machine = machineOfSmallL2(level);
  constexpr std::array kLayouts{Layout::kNdhwc, Layout::kNcdhw, Layout::kNdc1hwc0};
  RandomConvolution random(13);
  int plans = 0;
  for (int i = 0; i < problems; ++i) {
    Problem problem = random.next();
    problem.dtype = dtype;
    problem.layout = kLayouts[static_cast<std::size_t>(random.below(10)) % (i % 3 == 0 ? 3 : 1)];
    std::vector<DirectDataPlan> candidates = dataChannelCandidates(problem, machine);
    std::shuffle(candidates.begin(), candidates.end(), random.engine());
    int left = 8;
    for (DirectDataPlan plan : candidates) {
      plan.broadcastTaps = std::min(problem.kernel.w, 2 + random.below(4));
      if (left == 0 || !checkPlan(problem, plan, machine).empty()) continue;
      --left;
      ++plans;
      if (!planIsRight(session, problem, plan, static_cast<std::uint64_t>(i))) return plans;
    }
  }
  return plans;
}

TEST(SharedScalars, AllPlansAreRight) {
  for (const IsaLevel level : {IsaLevel::kAvx512Bf16, IsaLevel::kAvx512, IsaLevel::kAvx2}) {
    if (!hostRuns(level)) continue;
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16})
      EXPECT_GT(verifyPlans(level, dtype, BackendKind::kXbyak, 40), 100) << toString(level) << " " << toString(dtype);
  }
}

TEST(SharedScalars, InterpretersAgree) {
  for (const BackendKind backend : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    const IsaLevel level = hostRuns(IsaLevel::kAvx512Bf16) ? IsaLevel::kAvx512Bf16 : IsaLevel::kAvx2;
    for (const DType dtype : {DType::kF32, DType::kBf16})
      EXPECT_GT(verifyPlans(level, dtype, backend, 12), 40) << toString(backend);
  }
}

}  // namespace
}  // namespace cubejit
