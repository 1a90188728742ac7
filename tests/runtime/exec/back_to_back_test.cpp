// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: do gradients that read dy block by block give the bits they give alone, and is every task run once, in its block?
#include "runtime/exec/back_to_back.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "codegen/tile/task_ranges.h"
#include "cubejit/index_map.h"
#include "runtime/pipeline/compile.h"
#include "runtime/text/problem_text.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/verify_problem.h"
#include "tests/support/host.h"
#include "tests/support/operands.h"
#include "tests/support/plan_fields.h"
#include "tiling/back_to_back_plans.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

constexpr std::int64_t kBlock = 2 << 10;
constexpr DyBlocks kBlocks{kBlock, 24 << 10, 4};

// A machine whose caches are so small that gradients of small problems go back to back: the same one wherever the tests run, but
// for the ISA of those that run what they compile.
Machine smallMachine(IsaLevel level = IsaLevel::kAvx512, std::int64_t lastCache = 80 << 10,
                     std::int64_t block = kBlock) {
  Machine machine = hostOf(level);
  machine.cores = 1;
  machine.buffers.l1Bytes = 4 * block;
  machine.buffers.l2Bytes = lastCache;  // of which a third is ours
  return machine;
}

Options wakingAll() {
  Options options;
  options.wakeCycles = 0;
  return options;
}

// What is only looked at needs no code, which not every machine could make.
Options withoutCode() {
  Options options;
  options.backend = BackendKind::kTileInterpreter;
  return options;
}

struct AlignedDelete {
  void operator()(char* p) const { std::free(p); }
};

Status runOn(const Executable& executable, const Tensors& tensors, int threads) {
  const std::size_t bytes = executable.workspaceBytes(threads);
  const std::unique_ptr<char, AlignedDelete> workspace(
      static_cast<char*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)));
  std::fill_n(workspace.get(), bytes, '\xff');
  return executable.run(tensors, workspace.get(), bytes, threads);
}

std::vector<const TileProgram*> programsOf(const Executable& executable) {
  std::vector<const TileProgram*> programs;
  for (const auto& part : executable.state().parts) programs.push_back(&part->tile);
  return programs;
}

TEST(BackToBack, GradientsAreRight) {
  if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  const Options options = wakingAll();
  std::mt19937_64 random(23);
  constexpr std::array kLayouts{Layout::kNdhwc, Layout::kNcdhw, Layout::kNdc1hwc0};
  constexpr std::array kTypes{DType::kF32, DType::kBf16, DType::kF16};
  std::size_t together = 0, three = 0;
  for (std::size_t i = 0; i < 800; ++i) {
    Problem problem = randomProblem(random, 2e5);
    problem.layout = kLayouts[i % 3];
    problem.dtype = kTypes[i / 3 % 3];
    const std::int64_t bytes = std::max<std::int64_t>(4096, formatBytes(problem, TensorId::kDy));
    const Machine machine = smallMachine(runnableIsas().front(), 3 * bytes, bytes / 8);
    const auto compiled = compileExecutable(CompileRequest{problem, {true, true, true}, {}, {}}, machine, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    const Executable& executable = **compiled;
    if (!executable.state().together) continue;
    ++together;
    three += executable.state().together->members.size() == 3 ? 1 : 0;
    const VerifyOutcome outcome =
        verifyRuns(VerifyRequest{problem, {true, true, true}, {1, 2, 3}, i, false, {}},
                   [&](const Tensors& tensors, int threads) { return runOn(executable, tensors, threads); });
    ASSERT_EQ(outcome.verdict, VerifyOutcome::Verdict::kPassed) << outcome.message << "\n" << toFlags(problem);
  }
  EXPECT_GT(together, 40U);
  EXPECT_GT(three, 10U);
}

TEST(BackToBack, BitsAreThoseOfEachGradientAlone) {
  if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  const Machine machine = smallMachine(runnableIsas().front());
  Problem problem = squareProblem(6, 16, 16, 14);
  problem.groups = 16;
  const auto all = compileExecutable(CompileRequest{problem, {true, true, true}, {}, {}}, machine, wakingAll());
  ASSERT_TRUE(all.ok());
  ASSERT_TRUE((*all)->state().together);
  Operands operands(problem), apart(problem);
  const Tensors results = operands.tensors(), own = apart.tensors();
  ASSERT_TRUE(runOn(**all, results, 2).ok());
  for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
    const PassMask mask = maskOf(pass);
    const auto one = compileExecutable(CompileRequest{problem, mask, {(*all)->plan(pass)}, {}}, machine, wakingAll());
    ASSERT_TRUE(one.ok()) << one.error().message;
    EXPECT_FALSE((*one)->state().together);
    ASSERT_TRUE(runOn(**one, own, 1).ok());
  }
  EXPECT_EQ(operands.dx, apart.dx);
  EXPECT_EQ(operands.dw, apart.dw);
  EXPECT_EQ(operands.db, apart.db);
}

// The first of random problems whose three gradients all join in.
std::shared_ptr<Executable> threeTogether() {
  std::mt19937_64 random(29);
  for (int i = 0; i < 300; ++i) {
    const auto compiled = generateExecutable(CompileRequest{randomProblem(random, 2e5), {true, true, true}, {}, {}},
                                             smallMachine(), withoutCode());
    if (!compiled.ok()) continue;
    const std::optional<BackToBack> order = backToBack(programsOf(**compiled), kBlocks);
    if (order && order->members.size() == 3 && order->units.size() > 8) return *compiled;
  }
  return nullptr;
}

TEST(BackToBack, EveryTaskIsInTheUnitOfItsBlock) {
  const std::shared_ptr<Executable> executable = threeTogether();
  ASSERT_NE(executable, nullptr);
  const std::vector<const TileProgram*> programs = programsOf(*executable);
  const std::optional<BackToBack> order = backToBack(programs, kBlocks);
  std::vector<std::vector<TaskRange>> ranges;
  std::int64_t tasks = 0;
  for (const BackToBack::Member& member : order->members) {
    const TileProgram& program = *programs[member.program];
    const auto dy = std::find_if(program.buffers.begin(), program.buffers.end(),
                                 [](const Buffer& buffer) { return buffer.boundName() == "dy"; });
    ranges.push_back(taskRanges(program.phases[member.phase], static_cast<int>(dy - program.buffers.begin())));
    tasks += static_cast<std::int64_t>(ranges.back().size());
  }
  std::set<std::pair<std::size_t, std::int64_t>> seen;
  std::size_t shared = 0;
  for (const std::vector<TaskRun>& unit : order->units) {
    std::set<std::int64_t> blocks;
    std::set<std::size_t> programsHere;
    for (const TaskRun& run : unit) {
      programsHere.insert(run.program);
      for (std::int64_t task = run.begin; task < run.end; ++task) {
        EXPECT_TRUE(seen.emplace(run.program, task).second) << "twice";
        blocks.insert(std::max<std::int64_t>(0, ranges[run.program][static_cast<std::size_t>(task)].lo) / kBlock);
      }
    }
    EXPECT_EQ(blocks.size(), 1U);
    shared += programsHere.size() == 3 ? 1 : 0;
  }
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), tasks);
  EXPECT_GT(shared, order->units.size() / 8) << "blocks that all three read";
  EXPECT_FALSE(backToBack({programs[0]}, kBlocks)) << "one alone has nobody to share with";
}

TEST(BackToBack, TasksThatReadAllOfDyStayApart) {
  const Problem problem = squareProblem(6, 16, 16, 14);
  const Machine machine = smallMachine();
  for (const Pass one : {Pass::kDw, Pass::kDb}) {
    std::vector<TilingPlan> plans;
    for (const Pass pass : {Pass::kDx, Pass::kDw, Pass::kDb}) {
      const auto choice = choosePlan(problem, pass, machine, false);
      ASSERT_TRUE(choice.ok());
      plans.push_back(planInBlocks(problem, choice->plan, machine, kBlock));
      if (pass == one) setField(plans.back(), "reduction_parts", 1);
    }
    const auto compiled =
        generateExecutable(CompileRequest{problem, {true, true, true}, plans, {}}, machine, withoutCode());
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    const std::optional<BackToBack> order = backToBack(programsOf(**compiled), kBlocks);
    EXPECT_FALSE(order && order->includes(one == Pass::kDw ? 1 : 2)) << toString(one);
  }
}

// A task of a plain tensor reads all channels of some rows: it touches every block of its image.
TEST(BackToBack, PlainImagesOfManyBlocksStayApart) {
  const Machine machine = smallMachine();
  for (const std::int64_t channels : {4, 64}) {
    Problem problem = squareProblem(1, channels, 96, 28);
    problem.layout = Layout::kNcdhw;
    const auto compiled =
        generateExecutable(CompileRequest{problem, {true, true, true}, {}, {}}, machine, withoutCode());
    ASSERT_TRUE(compiled.ok());
    const auto& state = (*compiled)->state();
    if (!state.together) continue;
    const std::int64_t blocks = 96 * 28 * 28 * 4 / kBlock;
    for (const BackToBack::Member& member : state.together->members) {
      const Phase& phase = state.parts[member.program]->tile.phases[member.phase];
      EXPECT_GE(2 * taskCount(phase), blocks) << phase.name;
    }
    EXPECT_GE(2 * static_cast<std::int64_t>(state.together->units.size()), blocks);
  }
}

TEST(BackToBack, GradientsThatStayApartKeepTheirPlans) {
  const Machine machine = smallMachine();
  std::mt19937_64 random(31);
  std::size_t apart = 0;
  for (int i = 0; i < 60; ++i) {
    const Problem problem = randomProblem(random, 1e5);
    const auto compiled =
        generateExecutable(CompileRequest{problem, {false, true, true}, {}, {}}, machine, withoutCode());
    ASSERT_TRUE(compiled.ok());
    const auto& state = (*compiled)->state();
    if (state.together || !state.shared.empty()) continue;
    for (const auto& part : state.parts) {
      const auto alone = choosePlan(problem, part->plan.pass, machine, false);
      ASSERT_TRUE(alone.ok());
      EXPECT_EQ(fieldOf(part->plan, "reduction_parts"), fieldOf(alone->plan, "reduction_parts")) << toFlags(problem);
      ++apart;
    }
  }
  EXPECT_GT(apart, 10U);
}

}  // namespace
}  // namespace cubejit
