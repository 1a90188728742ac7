// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a test verifies plans on a matrix unit: those of a kind's candidates alone, under AMX or its imitation, and by both interpreters.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/support/host.h"
#include "tests/support/layers.h"
#include "tests/support/plan_fields.h"
#include "tests/support/random_plans.h"

namespace cubejit {

inline constexpr IsaLevel kTileLevel = IsaLevel::kAvx512Amx;

/// The plans among them that sum in tiles.
template <class Plan>
std::vector<Plan> inTiles(std::vector<Plan> plans) {
  std::erase_if(plans, [](const Plan& plan) { return !plan.matrixUnit; });
  return plans;
}

/// Channels-last bf16, 3x3 taps that keep the size.
inline Problem tileLayer(std::int64_t channels, std::int64_t side) {
  return ofType(DType::kBf16, inLayout(Layout::kNdhwc, squareProblem(1, channels, channels, side)));
}

/// What the planner's plan says of the field; -2: there is no plan.
inline int chosenField(const Problem& problem, Pass pass, IsaLevel level, const char* field) {
  const auto choice = choosePlan(problem, pass, hostOf(level), false);
  return choice.ok() ? fieldOf(choice->plan, field) : -2;
}

template <class Plan>
void expectTilePlansAreRight(const RandomPlans<Plan>& kind) {
  if (!hostRuns(kTileLevel)) GTEST_SKIP() << "neither AMX nor AVX512-BF16 to imitate it with";
  EXPECT_GT(verifyPlans(kind, {kTileLevel, DType::kBf16, kUsualBackend}, 700).size(), 900U);
  EXPECT_GT(verifyPlans(kind, {IsaLevel::kAvx512AmxFp16, DType::kF16, kUsualBackend}, 350).size(), 400U);
  if (CUBEJIT_TESTS_LLVM) {
    EXPECT_GT(verifyPlans(kind, {kTileLevel, DType::kBf16, BackendKind::kLlvm}, 40).size(), 50U);
  }
  EXPECT_EQ(takeTileFaults(), "");
}

template <class Plan>
void expectInterpretersOfTilesAgree(const RandomPlans<Plan>& kind) {
  for (const BackendKind backend : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    SCOPED_TRACE(toString(backend));
    EXPECT_GT(verifyPlans(kind, {kTileLevel, DType::kBf16, backend}, 30).size(), 40U);
  }
}

/// The pass of large layers is planned in tiles, where the level has products of their type, and that of small ones is not.
inline void expectDenseLayersInTiles(Pass pass) {
  const auto uses = [&](const Problem& problem, IsaLevel level) {
    return chosenField(problem, pass, level, "matrix_unit");
  };
  EXPECT_EQ(uses(tileLayer(64, 56), kTileLevel), 1);
  EXPECT_EQ(uses(tileLayer(256, 14), kTileLevel), 1);
  EXPECT_EQ(uses(tileLayer(8, 4), kTileLevel), 0);
  EXPECT_EQ(uses(tileLayer(64, 56), IsaLevel::kAvx512Bf16), 0);
  const Problem f32 = ofType(DType::kF32, tileLayer(64, 56)), f16 = ofType(DType::kF16, tileLayer(64, 56));
  EXPECT_EQ(uses(f32, kTileLevel), 0);
  EXPECT_EQ(uses(f16, kTileLevel), 0) << "no products of f16";
  EXPECT_EQ(uses(f16, IsaLevel::kAvx512AmxFp16), 1);
}

}  // namespace cubejit
