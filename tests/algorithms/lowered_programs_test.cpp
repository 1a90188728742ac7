// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of programs that the lowerings make: are they sound and no larger than they say, do what is read off them, packed weights, kept
// phases, ranges of tasks, agree with what they do?
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "algorithms/lower.h"
#include "codegen/tile/origin.h"
#include "codegen/tile/prepack.h"
#include "codegen/tile/task_ranges.h"
#include "codegen/tile/verify.h"
#include "codegen/tile/walk.h"
#include "runtime/text/problem_text.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/host.h"
#include "tests/support/operands.h"
#include "tests/support/plan_fields.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// Packed weights of a real program: every one is an element of w, and each element is there once.
TEST(LoweredPrograms, PackedWeightsAreThoseOfW) {
  Problem p;
  p.rank = 2;
  p.cin = 20;
  p.cout = 6;
  p.in = p.out = {1, 4, 5};
  p.kernel = {1, 3, 3};
  p.padBefore = p.padAfter = {0, 1, 1};
  const Machine machine = hostMachine(avx2Isa(), 1, 32768, 1 << 20, 32 << 20);
  TilingPlan plan = defaultPlan("direct", Pass::kDx);
  setField(plan, "register_w", 3);
  ASSERT_TRUE(checkPlan(p, plan, machine).empty());
  const auto program = lower(p, plan, machine);
  ASSERT_TRUE(program.ok()) << program.error().message;
  int packed = -1, w = -1;
  for (std::size_t b = 0; b < program->buffers.size(); ++b) {
    if (program->buffers[b].name == "packed_w") packed = static_cast<int>(b);
    if (program->buffers[b].boundName() == "w") w = static_cast<int>(b);
  }
  ASSERT_GE(packed, 0);
  std::vector<OriginQuestion> questions;
  for (std::int64_t at = 0; at < program->buffers[static_cast<std::size_t>(packed)].bytes; at += 4)
    questions.push_back({{packed, at}, {1, 0, 1}, Follow::kCameFrom});
  std::vector<int> seen(static_cast<std::size_t>(wElements(p)), 0);
  for (const Place& place : followMoves(*program, questions)) {
    if (place.buffer < 0 || place.buffer == packed) continue;  // padding
    ASSERT_EQ(place.buffer, w);
    ++seen[static_cast<std::size_t>(place.offset / 4)];
  }
  for (const int count : seen) EXPECT_EQ(count, 1);
}

Result<TileProgram> programOf(const Problem& p, Pass pass, WeightsUse weights) {
  const Machine machine = hostOf(IsaLevel::kAvx512);
  CUBEJIT_TRY(choice, choosePlan(p, pass, machine, false, weights));
  return lower(p, choice.plan, machine);
}

std::vector<std::string> packingPhases(const TileProgram& program) {
  const Prepack prepack = prepackOf(program);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < program.phases.size(); ++i) {
    if (prepack.phases[i]) names.push_back(program.phases[i].name);
  }
  return names;
}

TEST(LoweredPrograms, PackingAndStagingOfWeights) {
  Problem p = squareProblem(2, 32, 48, 14);
  auto program = programOf(p, Pass::kDx, WeightsUse::kKept);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(packingPhases(*program), std::vector<std::string>{"pack_weights"});
  EXPECT_TRUE(prepackOf(*program).complete);

  p.formats[static_cast<std::size_t>(TensorId::kW)] = TensorFormat{DType::kF32, Layout::kFractalZ3d};
  program = programOf(p, Pass::kDx, WeightsUse::kKept);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_GE(packingPhases(*program).size(), 2U) << "what undoes the blocks, and what packs";
  EXPECT_TRUE(prepackOf(*program).complete);
}

TEST(LoweredPrograms, OtherGradientsHaveNone) {
  for (const Pass pass : {Pass::kDw, Pass::kDb}) {
    const auto program = programOf(squareProblem(2, 32, 48, 14), pass, WeightsUse::kKept);
    ASSERT_TRUE(program.ok());
    EXPECT_TRUE(packingPhases(*program).empty());
    for (const bool kept : prepackOf(*program).buffers) EXPECT_FALSE(kept);
  }
}

// Without images dw is zero, in its own type through a buffer of the workspace: no weights made that.
TEST(LoweredPrograms, ZerosAreNotWeights) {
  Problem p = squareProblem(2, 32, 48, 14);
  p.dtype = DType::kBf16;
  p.batch = 0;
  for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
    const auto program = programOf(p, pass, WeightsUse::kKept);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_TRUE(pass == Pass::kDx || packingPhases(*program).empty()) << toString(pass);
  }
}

// The plain reading: every call, one by one.
std::vector<TaskRange> walked(const Phase& phase, int buffer) {
  std::vector<TaskRange> ranges(static_cast<std::size_t>(taskCount(phase)));
  walkCalls(phase, [&](const CallSite& site) {
    const int streams[] = {site.call->a, site.call->b};
    for (std::size_t i = 0; i < 2; ++i) {
      if (streams[i] < 0 || phase.streams[static_cast<std::size_t>(streams[i])].buffer != buffer) continue;
      TaskRange& range = ranges[static_cast<std::size_t>(site.task)];
      for (const std::int64_t at : {site.at[i], site.at[i] + (site.repeat - 1) * site.repeatStep[i]})
        range = range.reads() ? TaskRange{std::min(range.lo, at), std::max(range.hi, at)} : TaskRange{at, at};
    }
    return true;
  });
  return ranges;
}

TEST(LoweredPrograms, TaskRangesHoldWhatCallsGet) {
  Machine machine = hostOf(IsaLevel::kAvx512);
  machine.buffers.l1Bytes = 16 << 10;  // so that small problems have many tasks
  std::mt19937_64 random(3);
  std::size_t exact = 0, tasks = 0;
  for (int i = 0; i < 120; ++i) {
    const Problem problem = randomProblem(random, 1e5);
    for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
      const auto choice = choosePlan(problem, pass, machine, false);
      ASSERT_TRUE(choice.ok());
      const auto program = lower(problem, choice->plan, machine);
      ASSERT_TRUE(program.ok());
      const auto dy = std::find_if(program->buffers.begin(), program->buffers.end(),
                                   [](const Buffer& buffer) { return buffer.boundName() == "dy"; });
      ASSERT_NE(dy, program->buffers.end());
      const auto buffer = static_cast<int>(dy - program->buffers.begin());
      for (const Phase& phase : program->phases) {
        const std::vector<TaskRange> ranges = taskRanges(phase, buffer), want = walked(phase, buffer);
        ASSERT_EQ(ranges.size(), want.size());
        for (std::size_t task = 0; task < want.size(); ++task) {
          if (!want[task].reads()) continue;
          ++tasks;
          ASSERT_LE(ranges[task].lo, want[task].lo) << toFlags(problem) << " " << phase.name << " " << task;
          ASSERT_GE(ranges[task].hi, want[task].hi) << toFlags(problem) << " " << phase.name << " " << task;
          exact += ranges[task] == want[task] ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(tasks, 1000U);
  EXPECT_GT(exact, tasks * 8 / 10) << "of " << tasks;
}

// The verifier must neither refuse what the lowerings make nor be blind: with every buffer a line shorter, some call leaves it.
TEST(LoweredPrograms, AreSoundAndFitTightly) {
  std::mt19937_64 random(11);
  int shrunk = 0, caught = 0;
  for (int n = 0; n < 120; ++n) {
    const Problem problem = randomProblem(random, 1e5);
    const Machine machine = hostMachine(isaOf(n % 2 == 0 ? IsaLevel::kAvx512 : IsaLevel::kAvx2), 2, 0, 0, 0);
    for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
      const auto choice = choosePlan(problem, pass, machine, false);
      ASSERT_TRUE(choice.ok()) << choice.error().message;
      auto program = lower(problem, choice->plan, machine);
      ASSERT_TRUE(program.ok()) << program.error().message;
      const auto status = verify(*program);
      ASSERT_TRUE(status.ok()) << status.error().message;
      if (problem.batch == 0) continue;
      for (Buffer& buffer : program->buffers) buffer.bytes -= buffer.use == Buffer::Use::kConstant ? 0 : 64;
      ++shrunk;
      caught += verify(*program).ok() ? 0 : 1;
    }
  }
  EXPECT_EQ(caught, shrunk);
}

}  // namespace
}  // namespace cubejit
