// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of tilings from outside: published ones pass and cost no less than ours, and those changed by hand are
// told what is wrong, in their own words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "api/ascendc/tiling_values.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "cubejit_ascendc/last_error.h"
#include "cubejit_ascendc/tiling_request.h"
#include "runtime/face/last_error.h"
#include "runtime/text/json_problem.h"
#include "runtime/tuning/plan_source.h"
#include "runtime/tuning/store.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/published_tilings.h"
#include "tests/support/tuning_cases.h"

namespace cubejit::ascendc {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TilingRequest request() {
  TilingRequest r;
  r.machine = *machineByName("ascend910b2");
  r.n = 2, r.cin = 64, r.cout = 48;
  r.in = {3, 20, 24}, r.out = {3, 20, 24}, r.kernel = {1, 3, 3};
  r.pads = {0, 0, 1, 1, 1, 1};
  return r;
}

AscendC::tiling::TConv3DBackpropInputTiling inputTiling() {
  AscendC::tiling::TConv3DBackpropInputTiling t;
  EXPECT_EQ(fillInputTiling(request(), t), 0) << lastError();
  return t;
}

AscendC::tiling::TConv3DBpFilterTiling filterTiling() {
  AscendC::tiling::Conv3DBackpropFilterTilingData t;
  EXPECT_EQ(fillFilterTiling(request(), t), 0) << lastError();
  return t.dwTiling;
}

const Machine& chip() {
  static const Machine m = *machineByName("ascend910b2");
  return m;
}

TilingRequest requestOf(const Problem& p) {
  TilingRequest r;
  r.machine = chip();
  r.n = p.batch, r.cin = p.cin, r.cout = p.cout, r.groups = p.groups;
  r.in = {p.in.d, p.in.h, p.in.w}, r.out = {p.out.d, p.out.h, p.out.w}, r.kernel = {p.kernel.d, p.kernel.h, p.kernel.w};
  r.stride = {p.stride.d, p.stride.h, p.stride.w}, r.dilation = {p.dilation.d, p.dilation.h, p.dilation.w};
  r.pads = {p.padBefore.d, p.padAfter.d, p.padBefore.h, p.padAfter.h, p.padBefore.w, p.padAfter.w};
  const auto dtype = p.dtype == DType::kF32 ? ConvCommonApi::ConvDtype::FLOAT32 : ConvCommonApi::ConvDtype::FLOAT16;
  r.weight.dtype = r.input.dtype = r.gradOutput.dtype = dtype;
  return r;
}

TEST(PublishedTilings, AreLegalAndNeverCheaperThanOurs) {
  for (const char* name : {"ascend910b2", "ascend910_9391"}) {
    const auto rows = publishedTilings(std::string(CUBEJIT_SOURCE_DIR) + "/bench/tilings/ascend_published.jsonl",
                                       *machineByName(name));
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    EXPECT_EQ(rows->size(), 23U);
    for (const PublishedTiling& row : *rows) {
      EXPECT_THAT(row.broken, IsEmpty()) << row.problem.name;
      EXPECT_GE(row.theirs.predictedCycles, row.ours.predictedCycles) << row.problem.name;
    }
  }
}

TEST(PublishedTilings, AMissingFileIsAnError) { EXPECT_FALSE(publishedTilings("no such file", chip()).ok()); }

TEST(CheckTiling, WhatWeFillPasses) {
  EXPECT_THAT(checkTiling(inputTiling(), chip()), IsEmpty());
  EXPECT_THAT(checkTiling(filterTiling(), chip()), IsEmpty());
  EXPECT_TRUE(planOf(inputTiling(), chip()).is<CubePlan>());
  EXPECT_EQ(problemOf(filterTiling()).cout, 48);
}

TEST(CheckTiling, BuffersAreNamedWithBothByteCountsAndTheFieldToChange) {
  auto t = inputTiling();
  t.baseM = 512, t.baseN = 512, t.baseK = 512, t.al0Pbuffer = 2;
  EXPECT_THAT(
      checkTiling(t, chip()),
      AllOf(Contains(AllOf(HasSubstr("L0A needs 1048576 bytes, ascend910b2 has 65536"),
                           HasSubstr("lower baseM, baseK or al0Pbuffer"))),
            Contains(AllOf(HasSubstr("L0B needs "), HasSubstr("bl0Pbuffer"))),
            Contains(AllOf(HasSubstr("L0C needs "), HasSubstr("ascend910b2 has 131072"), HasSubstr("cl0Pbuffer")))));
  t = inputTiling();
  t.stepKb = 100000;
  EXPECT_THAT(checkTiling(t, chip()),
              Contains(AllOf(HasSubstr("L1 (A "), HasSubstr("has 524288; lower stepKb, bl1Pbuffer"))));
  auto f = filterTiling();
  f.stepKa = 100000;
  EXPECT_THAT(checkTiling(f, chip()), Contains(AllOf(HasSubstr("L1 (A "), HasSubstr("lower stepKa, al1Pbuffer"))));
}

TEST(CheckTiling, FieldsThatFollowFromOthersMustAgree) {
  auto t = inputTiling();
  t.cout1 += 1, t.cin1G += 1, t.backpropPadUp += 1, t.singleCoreBatch = 2;
  EXPECT_THAT(
      checkTiling(t, chip()),
      AllOf(Contains("cout1 = 4 must be 3, which follows from the other fields"), Contains(HasSubstr("cin1G = ")),
            Contains(HasSubstr("backpropPadUp = 2 must be 1")), Contains(HasSubstr("singleCoreBatch = 2 must be 1"))));
  auto f = filterTiling();
  f.m0 = 8, f.bl1Bound = 1, f.cout1G = 9;
  EXPECT_THAT(checkTiling(f, chip()),
              AllOf(Contains(HasSubstr("m0 = 8 must be 16")), Contains(HasSubstr("bl1Bound = 1 must be at least")),
                    Contains(HasSubstr("cout1G = 9 must be 3"))));
}

TEST(CheckTiling, TasksAreToldInTheTilingsWords) {
  auto t = inputTiling();
  t.singleCoreM = 30, t.baseM = 24, t.stepM = 2, t.al1Pbuffer = 3;
  EXPECT_THAT(checkTiling(t, chip()), AllOf(Contains(HasSubstr("baseM = 24 must be a multiple of 16")),
                                            Contains(HasSubstr("al1Pbuffer = 3 must be 1"))));
  t.baseM = 16, t.al1Pbuffer = 1;
  EXPECT_THAT(checkTiling(t, chip()),
              AllOf(Contains(HasSubstr("singleCoreM = 30 must be a multiple of a row's 24 pixels")),
                    Contains(HasSubstr("stepM = 2 must be 1"))));
}

// A tiling that GetTiling left as it was says so, in one line.
TEST(CheckTiling, AStructThatNobodyFilledIsNoListOfZeros) {
  TilingRequest asked = request();
  asked.kernel = {0, 0, 0};
  AscendC::tiling::TConv3DBackpropInputTiling input;
  ASSERT_EQ(fillInputTiling(asked, input), -1);
  EXPECT_THAT(checkTiling(input, chip()), ElementsAre(HasSubstr("GetTiling failed or was not called")));
  EXPECT_THAT(checkTiling(AscendC::tiling::TConv3DBpFilterTiling{}, chip()),
              ElementsAre(HasSubstr("cubejit_last_error() then says why")));
  input.batch = 1;
  EXPECT_THAT(checkTiling(input, chip()), Contains("cin = 0 must be 1 to 2147483647"));
}

// Zeros, and random values in every field: an answer, never a crash.
TEST(CheckTiling, AnythingIsAnswered) {
  EXPECT_FALSE(checkTiling(AscendC::tiling::TConv3DBackpropInputTiling{}, chip()).empty());
  EXPECT_FALSE(checkTiling(AscendC::tiling::TConv3DBpFilterTiling{}, chip()).empty());
  std::mt19937_64 random(7);
  constexpr std::uint64_t kValues[] = {0, 1, 2, 7, 16, 255, 65535, 2147483647, 4294967295U};
  int broken = 0;
  for (int i = 0; i < 4000; ++i) {
    auto t = inputTiling();
    auto f = filterTiling();
    const std::uint64_t chosen = random() % 50;
    std::uint64_t at = 0;
    const auto change = [&](const char*, auto& field) {
      if (at++ == chosen || i % 10 == 0) field = static_cast<std::decay_t<decltype(field)>>(kValues[random() % 9]);
    };
    describeInputTiling(t, change);
    at = 0;
    describeFilterTiling(f, change);
    broken += checkTiling(t, chip()).empty() ? 0 : 1;
    broken += checkTiling(f, chip()).empty() ? 0 : 1;
  }
  EXPECT_GT(broken, 4000);
}

// A plan becomes a struct, and the struct the plan: what the kernels take loses nothing on the way.
TEST(CheckTiling, PlansBecomeTilingsAndPlansAgain) {
  std::mt19937_64 random(11);
  int turned = 0, mOuter = 0;
  for (int i = 0; i < 300; ++i) {
    Problem p = randomProblem(random);
    if (p.transposed || p.batch == 0) continue;
    p.dtype = i % 3 == 0 ? DType::kF32 : DType::kF16;
    p.formats = {};
    TilingRequest r = requestOf(p);
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      NpuPlanOptions options;
      options.kernels = CubeKernels::kAscendC;
      if (i % 2 == 0) options.order = BlockOrder::kMOuter;
      const auto planned = planOnNpu(p, pass, chip(), options);
      if (!planned.ok()) continue;
      r.plan = planned->plan;
      mOuter += planned->plan.cube().tile.order == BlockOrder::kMOuter ? 1 : 0;
      AscendC::tiling::TConv3DBackpropInputTiling t;
      AscendC::tiling::Conv3DBackpropFilterTilingData f;
      std::string source;
      const std::int64_t status = pass == Pass::kDx ? fillInputTiling(r, t, &source) : fillFilterTiling(r, f, &source);
      if (status != 0) continue;  // the documented rules of the classes
      EXPECT_EQ(source, "caller");
      const TilingPlan back = pass == Pass::kDx ? planOf(t, chip()) : planOf(f.dwTiling, chip());
      EXPECT_EQ(planToJson(back), planToJson(*r.plan));
      ++turned;
    }
  }
  EXPECT_GT(turned, 100);
  EXPECT_GT(mOuter, 20);
}

TEST(CheckTiling, APlanThatTheKernelsCannotRunIsNoTiling) {
  TilingRequest r = request();
  r.plan = planOf(inputTiling(), chip());
  r.plan->cube().tile.stepM = 2;
  r.plan->cube().tile.base.m = 4000;
  AscendC::tiling::TConv3DBackpropInputTiling t;
  EXPECT_EQ(fillInputTiling(r, t), -1);
  EXPECT_THAT(lastError(), AllOf(HasSubstr("step_m = 2 must be 1 for the Ascend C kernels"), HasSubstr("L0C needs")));
  AscendC::tiling::Conv3DBackpropFilterTilingData f;
  EXPECT_EQ(fillFilterTiling(r, f), -1);
  EXPECT_THAT(lastError(), HasSubstr("pass = dx of the plan must be dw"));
}

// What was tuned for the chip reaches the struct, if the kernels can run it; the next best where they cannot.
TEST(CheckTiling, RecordsOfTheStoreReachTheTiling) {
  const ScratchFolder folder("tilings");
  setenv("CUBEJIT_DB", folder.file("tune.db").c_str(), 1);
  setenv("CUBEJIT_TUNE", "use", 1);
  TilingRequest r = request();
  Problem p = problemOf(r);
  p.dtype = DType::kF16;
  const auto planOfRequest = [&] { return planOf(inputTiling(), chip()); };
  const TilingPlan untuned = planOfRequest();
  NpuPlanOptions options;
  options.kernels = CubeKernels::kAscendC;
  options.explain = true;
  const auto explained = planOnNpu(p, Pass::kDx, chip(), options);
  ASSERT_TRUE(explained.ok());
  std::vector<TilingPlan> others;
  for (const NpuCandidate& candidate : explained->candidates) {
    if (planToJson(candidate.plan) != planToJson(untuned)) others.push_back(candidate.plan);
  }
  ASSERT_GT(others.size(), 2U);
  TilingPlan usable = others[0], cannotRun = others[1];
  usable.cube().tile.order = BlockOrder::kNOuter;
  cannotRun.cube().tile.order = BlockOrder::kMOuter;
  Options sessionOptions;
  Problem typed = p;  // tuned by the command, with its usual layout and in two dimensions
  typed.layout = Layout::kNdhwc;
  const auto record = [&](const TilingPlan& plan, double relative, const char* run) {
    TuneRecord made;
    made.key = tuneKeyOf(typed, Pass::kDx, chip(), sessionOptions);
    made.version = version();
    made.run = run;
    made.code = "0123456789abcdef";
    made.plan = plan;
    made.won = made.verified = true;
    made.relative = relative;
    made.unixTime = 1700000000;
    return made;
  };
  ASSERT_TRUE(TuningStore::open(folder.file("tune.db"), StoreAccess::kReadWrite, nullptr)
                  .value()
                  ->addAll({record(cannotRun, 0.5, "fast"), record(usable, 0.8, "slower")})
                  .ok());
  AscendC::tiling::TConv3DBackpropInputTiling t;
  std::string source;
  ASSERT_EQ(fillInputTiling(r, t, &source), 0) << lastError();
  EXPECT_THAT(source, AllOf(HasSubstr("record: "), HasSubstr("iterateOrder = 0 must be 1"), HasSubstr("run slower")));
  EXPECT_EQ(planToJson(planOf(t, chip())), planToJson(usable));
  setenv("CUBEJIT_TUNE", "off", 1);
  ASSERT_EQ(fillInputTiling(r, t, &source), 0);
  EXPECT_EQ(source, "model");
  EXPECT_EQ(planToJson(planOf(t, chip())), planToJson(untuned));
  unsetenv("CUBEJIT_DB");
}

// Whatever GetTiling returns for a random convolution passes the check and stands for a problem of these extents.
TEST(CheckTiling, TilingsOfRandomProblemsPass) {
  std::mt19937_64 random(9);
  int filled = 0;
  for (int i = 0; i < 600; ++i) {
    const Problem p = randomProblem(random);
    if (p.transposed || p.batch == 0) continue;
    Problem half = p;
    half.dtype = DType::kF16;
    TilingRequest r = requestOf(half);
    r.forChip = i % 4 == 0;
    AscendC::tiling::TConv3DBackpropInputTiling t;
    if (fillInputTiling(r, t) == 0) {
      ++filled;
      EXPECT_THAT(checkTiling(t, chip()), IsEmpty());
      EXPECT_EQ(problemOf(t).in, p.in);
    } else {
      EXPECT_NE(lastError(), "");
    }
    AscendC::tiling::Conv3DBackpropFilterTilingData f;
    if (fillFilterTiling(r, f) == 0) {
      ++filled;
      EXPECT_THAT(checkTiling(f.dwTiling, chip()), IsEmpty());
    }
  }
  EXPECT_GT(filled, 100);
}

}  // namespace
}  // namespace cubejit::ascendc
