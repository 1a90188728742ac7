// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides that forwarded programs are proven, by both interpreters and by machine code, over random problems, and that a program which
// forwards anything else is caught.
#include "emulation/forward_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "emulation/seen_fractals.h"
#include "runtime/unit_loader.h"
#include "runtime/verify/random_problem.h"
#include "tiling/check_problem.h"
#include "tiling/npu/block_stream.h"
#include "tiling/npu/gradient_tasks.h"

namespace cubejit {
namespace {

std::unique_ptr<LoadedUnits> unitsBy(BackendKind kind, DType type) {
  Options options;
  options.backend = kind;
  auto units = loadUnits(type, options);
  EXPECT_TRUE(units.ok()) << units.error().message;
  return std::move(*units);
}

// A task in the middle of a random gradient, and its programs.
struct Programs {
  CubeJob job;
  std::vector<UnitProgram> programs;
};

std::optional<Programs> programsOf(std::mt19937_64& random, DType type, Gradient gradient, const char* chip) {
  Problem p = randomProblem(random, 2e5);
  p.dtype = type;
  p.batch = std::max<std::int64_t>(1, p.batch);
  if (!checkProblem(p).ok()) return {};
  const Machine machine = *machineByName(chip);
  const auto plan = planOnNpu(p, gradient, machine);
  if (!plan.ok()) return {};
  auto job = makeCubeJob(p, plan->plan, machine, false);
  if (!job.ok()) return {};
  Programs made{std::move(*job), {}};
  const GradientTasks tasks(made.job);
  BlockStream stream(made.job, tasks.task(static_cast<std::int64_t>(random() % 64) % tasks.count()));
  CubeBlock block;
  UnitProgram program;
  while (made.programs.size() < 2 && stream.next(block, program)) {
    if (block.computed) made.programs.push_back(program);
  }
  return made;
}

TEST(ForwardProof, RandomProgramsAreProven) {
  std::mt19937_64 random(5);
  const DType types[] = {DType::kF16, DType::kBf16, DType::kF32, DType::kHf32};
  int proven = 0;
  for (int i = 0; i < 48; ++i) {
    const DType type = types[i % 4];
    const bool slow = i % 3 != 0;
    const auto made = programsOf(random, type, i % 8 < 4 ? Gradient::kDx : Gradient::kDw, "toy");
    if (!made) continue;
    const BackendKind kind = !slow        ? BackendKind::kXbyak
                             : i % 3 == 1 ? BackendKind::kInterpreter
                                          : BackendKind::kTileInterpreter;
    const auto units = unitsBy(kind, made->job.work.type);
    const OperandTables none;
    const UnitContext context{made->job.work, none};
    for (const UnitProgram& program : made->programs) {
      const auto forwarded = forwardProgram(program, context);
      ASSERT_TRUE(forwarded.ok()) << forwarded.error().message;
      const Status same = proveForwarding(units->code, program, *forwarded, context, made->job.machine);
      EXPECT_TRUE(same.ok()) << same.error().message << " #" << i;
      ++proven;
    }
  }
  EXPECT_GT(proven, 30);
}

// Rows of 20 pixels, spread by strides: whole fractals are between the elements.
std::optional<Programs> stridedPrograms(std::int64_t stride, DType type) {
  Problem p;
  p.rank = 2;
  p.batch = 1;
  p.cin = 32;
  p.cout = 20;
  p.in = {1, 12, 20};
  p.kernel = {1, 3, 2};
  p.stride = {1, stride, 2};
  p.padBefore = p.padAfter = {0, 1, 1};
  p.out = {1, (12 + 2 - 3) / stride + 1, (20 + 2 - 2) / 2 + 1};
  p.dtype = type;
  const Machine machine = *machineByName("toy");
  const auto plan = planOnNpu(p, Gradient::kDx, machine);
  if (!checkProblem(p).ok() || !plan.ok()) return {};
  auto job = makeCubeJob(p, plan->plan, machine, false);
  if (!job.ok()) return {};
  Programs made{std::move(*job), {}};
  BlockStream stream(made.job, GradientTasks(made.job).task(0));
  CubeBlock block;
  UnitProgram program;
  while (stream.next(block, program)) made.programs.push_back(program);
  return made;
}

TEST(ForwardProof, WhatStridesLeaveUnseenIsProvenToBeZero) {
  for (const std::int64_t stride : {2, 3}) {
    for (const DType type : {DType::kF16, DType::kBf16, DType::kF32}) {
      const auto made = stridedPrograms(stride, type);
      ASSERT_TRUE(made.has_value() && !made->programs.empty());
      const OperandTables none;
      const UnitContext context{made->job.work, none};
      const auto units = unitsBy(BackendKind::kTileInterpreter, made->job.work.type);
      int unseen = 0, tried = 0, caught = 0;
      for (const UnitProgram& program : made->programs) {
        const auto forwarded = forwardProgram(program, context);
        ASSERT_TRUE(forwarded.ok());
        const Status same = proveForwarding(units->code, program, *forwarded, context, made->job.machine);
        EXPECT_TRUE(same.ok()) << same.error().message;
        ForwardedProgram wrong = *forwarded;
        for (ForwardStep& step : wrong) {
          auto* unfold = std::get_if<Unfold>(&step.instruction);
          if (unfold == nullptr) continue;
          SeenFractals seen;
          findSeen(*unfold, made->job.work, seen);
          unseen += seen.count < seen.units * static_cast<std::int64_t>(seen.ranges.size()) ? 1 : 0;
          // The elements said to be a row further on than they are.
          --unfold->piece.rows.begin;
          SeenFractals other;
          findSeen(*unfold, made->job.work, other);
          if (other.bits == seen.bits) continue;
          ++tried;
          caught += proveForwarding(units->code, program, wrong, context, made->job.machine).ok() ? 0 : 1;
          break;
        }
      }
      EXPECT_GT(unseen, 0) << stride << " " << toString(type);
      EXPECT_GT(tried, 0);
      EXPECT_EQ(caught, tried);
    }
  }
}

TEST(ForwardProof, AnythingElseIsCaught) {
  std::mt19937_64 random(6);
  constexpr int kChanges = 6;
  int tried[kChanges] = {}, caught[kChanges] = {};
  for (int i = 0; i < 24; ++i) {
    const auto made =
        programsOf(random, i % 2 == 0 ? DType::kF16 : DType::kF32, i % 4 < 2 ? Gradient::kDx : Gradient::kDw, "toy");
    if (!made || made->programs.empty()) continue;
    const auto units = unitsBy(BackendKind::kTileInterpreter, made->job.work.type);
    const OperandTables none;
    const UnitContext context{made->job.work, none};
    const UnitProgram& program = made->programs.front();
    for (int change = 0; change < kChanges; ++change) {
      ForwardedProgram wrong = *forwardProgram(program, context);
      bool changed = false;
      for (ForwardStep& step : wrong) {
        auto* unfold = std::get_if<Unfold>(&step.instruction);
        auto* fractals = std::get_if<LoadFractals>(&step.instruction);
        auto* mmad = std::get_if<Mmad>(&step.instruction);
        if (change == 0 && unfold != nullptr && unfold->units.begin > 0) changed = --unfold->units.begin >= 0;
        if (change == 1 && unfold != nullptr && unfold->pixels.count > 1) changed = --unfold->pixels.count > 0;
        if (change == 2 && fractals != nullptr && fractals->y.begin > 0) changed = --fractals->y.begin >= 0;
        if (change == 3 && mmad != nullptr && mmad->k1 > 1) changed = --mmad->k1 > 0;
        if (change == 4 && mmad != nullptr && step.rows > 1) changed = --step.rows > 0;
        if (change == 5 && mmad != nullptr && step.along > 4) changed = (step.along -= 4) > 0;
        if (changed) break;
      }
      if (!changed) continue;
      const Status same = proveForwarding(units->code, program, wrong, context, made->job.machine);
      ++tried[change];
      if (same.ok()) continue;  // an element that only padding sees
      EXPECT_THAT(same.error().message, ::testing::AllOf(::testing::HasSubstr("mmad"), ::testing::HasSubstr("differ")));
      ++caught[change];
    }
  }
  EXPECT_GT(tried[0] + tried[2], 3);
  EXPECT_GT(tried[1], 3);
  EXPECT_GT(tried[3], 3);
  EXPECT_GT(tried[4], 3);
  EXPECT_GT(tried[5], 3);
  for (int change = 0; change < kChanges; ++change) EXPECT_GE(2 * caught[change], tried[change]) << change;
}

}  // namespace
}  // namespace cubejit
