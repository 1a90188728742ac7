// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that plans without a limit of workspace take little of it, and that what is long is planned.
#include "runtime/pipeline/choose_within.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cubejit/index_map.h"
#include "runtime/text/problem_text.h"
#include "tests/support/host.h"

namespace cubejit {
namespace {

struct Long {
  std::int64_t batch, cin, cout, groups;
  Dhw in, kernel;
  std::int64_t pad;
};

Problem problemOf(const Long& l, Layout layout, DType type) {
  Problem p;
  p.rank = l.in.d > 1 ? 3 : l.in.h > 1 ? 2 : 1;
  p.batch = l.batch;
  p.cin = l.cin;
  p.cout = l.cout;
  p.groups = l.groups;
  p.in = l.in;
  p.kernel = l.kernel;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t pad = l.kernel[axis] > 1 ? l.pad : 0;
    p.padBefore[axis] = p.padAfter[axis] = pad;
    p.out[axis] = l.in[axis] + 2 * pad - l.kernel[axis] + 1;
  }
  p.layout = layout;
  p.dtype = type;
  return p;
}

// Heads of segmentation networks on whole volumes, minutes and hours of audio, satellite images; millions of small images.
const std::vector<Long> kLong = {
    {1, 32, 2, 1, {1, 1, 14680064}, {1, 1, 1}, 0}, {1, 32, 2, 1, {255, 255, 255}, {1, 1, 1}, 0},
    {1, 32, 2, 1, {320, 512, 512}, {1, 1, 1}, 0},  {1, 16, 1, 1, {1, 1, 14680064}, {1, 1, 1}, 0},
    {1, 3, 3, 1, {1, 30000, 30000}, {1, 1, 1}, 0}, {1, 1, 8, 1, {1, 1, 57600000}, {1, 1, 16}, 0},
    {1, 3, 8, 1, {1, 16384, 16384}, {1, 3, 3}, 1}, {1, 2, 4, 1, {400, 700, 700}, {3, 3, 3}, 1},
    {1 << 21, 1, 1, 1, {1, 4, 4}, {1, 3, 3}, 1},   {1 << 21, 8, 8, 1, {1, 2, 2}, {1, 1, 1}, 0},
    {1 << 21, 4, 4, 4, {1, 1, 5}, {1, 1, 3}, 1},
};

TEST(ChooseWithin, LongProblemsHavePlans) {
  const Options options;
  for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512Bf16}) {
    for (const Long& l : kLong) {
      for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc}) {
        for (const DType type : {DType::kF32, DType::kBf16}) {
          const Problem p = problemOf(l, layout, type);
          for (const Pass pass : kPasses) {
            const auto choice = choosePlanWithin(p, pass, hostOf(level), false, WeightsUse::kEachRun, options);
            ASSERT_TRUE(choice.ok()) << toString(level) << " " << toString(pass) << " " << toFlags(p) << "\n"
                                     << choice.error().message;
            EXPECT_TRUE(workspaceBytes(p, choice->plan, hostOf(level), options).ok());
          }
        }
      }
    }
  }
}

TEST(ChooseWithin, PlansStayWithinHalfOfTheTensors) {
  const Options options;
  const Machine machine = hostOf(IsaLevel::kAvx512Bf16);
  for (const Long& l :
       {Long{1, 2, 2, 1, {550, 1000, 1000}, {3, 3, 3}, 1}, Long{1, 3, 8, 1, {1, 16384, 16384}, {1, 3, 3}, 1}}) {
    for (const Layout layout : {Layout::kNcdhw, Layout::kNdhwc}) {
      for (const DType type : {DType::kF32, DType::kBf16}) {
        const Problem p = problemOf(l, layout, type);
        const std::int64_t tensors = formatBytes(p, TensorId::kX) + formatBytes(p, TensorId::kY);
        for (const Pass pass : {Pass::kY, Pass::kDx, Pass::kDw}) {
          const auto choice = choosePlanWithin(p, pass, machine, false, WeightsUse::kEachRun, options);
          ASSERT_TRUE(choice.ok()) << choice.error().message;
          const auto bytes = workspaceBytes(p, choice->plan, machine, options);
          ASSERT_TRUE(bytes.ok());
          EXPECT_LE(*bytes, tensors / 2) << toString(pass) << " " << toFlags(p);
        }
      }
    }
  }
}

TEST(ChooseWithin, WhatALimitLeavesIsTheCheapestThatFits) {
  Options options;
  const Machine machine = hostOf(IsaLevel::kAvx512Bf16);
  const Problem p = problemOf({2, 24, 24, 1, {1, 60, 60}, {1, 3, 3}, 1}, Layout::kNcdhw, DType::kF32);
  const auto free = choosePlanWithin(p, Pass::kDx, machine, true, WeightsUse::kEachRun, options);
  ASSERT_TRUE(free.ok());
  std::int64_t least = -1;
  for (const Candidate& candidate : free->considered) {
    if (!candidate.refusedBy.empty()) continue;
    const auto bytes = workspaceBytes(p, candidate.plan, machine, options);
    ASSERT_TRUE(bytes.ok());
    least = least < 0 ? *bytes : std::min(least, *bytes);
  }
  options.memLimit = least;
  const auto limited = choosePlanWithin(p, Pass::kDx, machine, true, WeightsUse::kEachRun, options);
  ASSERT_TRUE(limited.ok()) << limited.error().message;
  EXPECT_EQ(*workspaceBytes(p, limited->plan, machine, options), least);
  EXPECT_GE(limited->cost.totalCycles, free->cost.totalCycles);
  options.memLimit = least - 1;
  const auto none = choosePlanWithin(p, Pass::kDx, machine, false, WeightsUse::kEachRun, options);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, testing::HasSubstr("takes " + std::to_string(least) + " bytes of workspace"));
}

}  // namespace
}  // namespace cubejit
