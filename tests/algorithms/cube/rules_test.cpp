// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the NPU's rules: each broken one is named with its values and a fix, and the cases that a chip is
// known to refuse are refused.
#include "algorithms/cube/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cubejit/machines.h"
#include "cubejit/machines/toy.h"
#include "cubejit/npu.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/problem_text.h"
#include "tests/algorithms/cube/cube_plans.h"

namespace cubejit {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CubeRules : public ::testing::TestWithParam<Pass> {
 protected:
  std::vector<std::string> check() const { return checkCubePlan(work, plan, machine); }
  Machine machine = toyMachine();
  CubeWork work = cubeWorkOf(handProblem(), GetParam(), machine);
  TilingPlan plan = handPlan(work);
};

TEST_P(CubeRules, TheHandPlanFitsTheToy) {
  machine.buffers.l0aBytes = machine.buffers.l0bBytes = 6144;
  EXPECT_THAT(check(), IsEmpty());
}

TEST_P(CubeRules, EachBufferIsNamedWithBothByteCountsAndTheField) {
  machine.buffers = Buffers{};
  machine.buffers.l0aBytes = machine.buffers.l0bBytes = machine.buffers.l0cBytes = machine.buffers.l1Bytes = 1024;
  const bool dx = GetParam() == Pass::kDx;
  EXPECT_THAT(
      check(),
      AllOf(Contains(AllOf(HasSubstr(dx ? "L0A needs 6144 bytes" : "L0A needs 4096 bytes"), HasSubstr("toy has 1024"),
                           HasSubstr("lower base_m, base_k or buffers_l0a"))),
            Contains(AllOf(HasSubstr("L0B needs 6144 bytes"), HasSubstr("base_n or buffers_l0b"))),
            Contains(AllOf(HasSubstr(dx ? "L0C needs 4096 bytes" : "L0C needs 6144 bytes"), HasSubstr("buffers_l0c"))),
            Contains(AllOf(HasSubstr("L1 (A "), HasSubstr("toy has 1024"), HasSubstr("lower step_k")))));
}

TEST_P(CubeRules, UbCountsWhereThereIsNoFixpipe) {
  machine.buffers.l0aBytes = machine.buffers.l0bBytes = 6144;
  machine.buffers.ubBytes = 1024;
  EXPECT_THAT(check(), IsEmpty());
  machine.npu.fixpipe = false;
  EXPECT_THAT(check(),
              ElementsAre(AllOf(HasSubstr("UB needs "), HasSubstr("toy has 1024"), HasSubstr("lower base_m"))));
}

TEST_P(CubeRules, FractalsRangesAndBuffers) {
  plan.cube().tile.base = Mkn{24, 8, 4112};
  plan.cube().tile.buffersL0c = 3;
  plan.cube().tile.stepKa = 0;
  EXPECT_THAT(check(), AllOf(Contains("base_m = 24 must be a multiple of 16, c0 of f16"),
                             Contains("base_k = 8 must be a multiple of 16, c0 of f16"),
                             Contains(HasSubstr("base_n = 4112 must be at most 4095")),
                             Contains("buffers_l0c = 3 must be 1 (single) or 2 (ping-pong)"),
                             Contains("step_ka = 0 must be at least 1")));
}

TEST_P(CubeRules, EveryCountOfTheSplitMustCoverTheGradientOnce) {
  machine.buffers.l0aBytes = machine.buffers.l0bBytes = 6144;
  std::int64_t* counts[] = {&plan.cube().cores.batch,     &plan.cube().cores.groups,    &plan.cube().cores.depth,
                            &plan.cube().cores.rows,      &plan.cube().cores.channelsM, &plan.cube().cores.channelsN,
                            &plan.cube().cores.reduction, &plan.cube().cores.tapsD};
  const char* names[] = {"core_batch",      "core_groups",     "core_depth",     "core_rows",
                         "core_channels_m", "core_channels_n", "core_reduction", "core_taps_d"};
  for (std::size_t i = 0; i < 8; ++i) {
    ++*counts[i];
    EXPECT_THAT(check(),
                Contains(AllOf(HasSubstr(std::string(names[i]) + " = " + std::to_string(*counts[i]) + " must be "),
                               HasSubstr("covers the gradient once"))));
    --*counts[i];
  }
}

TEST_P(CubeRules, ThePlanIsOfThisGradientTypeAndUnit) {
  TilingPlan other = plan;
  other = TilingPlan();
  EXPECT_THAT(checkCubePlan(work, other, machine), ElementsAre(HasSubstr("must be cube on")));
  other = plan;
  other.pass = GetParam() == Pass::kDx ? Pass::kDw : Pass::kDx;
  EXPECT_THAT(checkCubePlan(work, other, machine), ElementsAre(HasSubstr("pass = ")));
  other = plan;
  other.cube().tile.operand = DType::kF32;
  EXPECT_THAT(checkCubePlan(work, other, machine), ElementsAre(HasSubstr("operand = f32 must be the problem's f16")));
}

INSTANTIATE_TEST_SUITE_P(Gradients, CubeRules, ::testing::Values(Pass::kDx, Pass::kDw));

TEST(CubeRules, TasksAreWholeBlocksOfTheirAxes) {
  const Machine machine = toyMachine();
  CubeWork w = cubeWorkOf(handProblem(), Pass::kDx, machine, CubeKernels::kAscendC);
  TilingPlan plan = handPlan(w);
  plan.cube().singleShape = Mkn{24, 100, 20};
  plan.cube().cores = splitOf(w, plan.cube().singleShape);
  plan.cube().tile.stepM = 2;
  EXPECT_THAT(checkCubePlan(w, plan, machine),
              AllOf(Contains("single_shape_m = 24 must be a multiple of a row's 16 pixels"),
                    Contains(HasSubstr("single_shape_k = 100 must be a multiple of 144")),
                    Contains("single_shape_n = 20 must be a multiple of 16, c0"),
                    Contains(HasSubstr("core_reduction = 6 must be 1")),
                    Contains("step_m = 2 must be 1 for the Ascend C kernels")));
  plan.cube().singleShape.m = 8;
  EXPECT_THAT(checkCubePlan(w, plan, machine), Contains("single_shape_m = 8 must be at least a row's 16 pixels"));
  w = cubeWorkOf(handProblem(), Pass::kDw, machine);
  plan = handPlan(w);
  plan.cube().singleShape = Mkn{40, 24, 48};
  plan.cube().cores = splitOf(w, plan.cube().singleShape);
  EXPECT_THAT(checkCubePlan(w, plan, machine),
              AllOf(Contains(HasSubstr("single_shape_m = 40 must be a multiple of 16")),
                    Contains(HasSubstr("single_shape_k = 24 must be a multiple of a row's")),
                    Contains(HasSubstr("single_shape_n = 48 must be a multiple of 144"))));
}

TEST(CubeRules, PiecesOfARowAreTasksOfTheirOwn) {
  const CubeWork w = cubeWorkOf(handProblem(), Pass::kDx, toyMachine());
  EXPECT_EQ(pixelTasks(w, 16), 8);
  EXPECT_EQ(pixelTasks(w, 48), 3);
  EXPECT_EQ(pixelTasks(w, 6), 8 * 3);
}

// What chips refuse. `words` are told.
void refused(const std::string& flags, Pass pass, DType type, const char* soc, const std::vector<const char*>& words) {
  ProblemFlags typed;
  std::istringstream in(flags);
  in >> typed.input >> typed.weight >> typed.stride >> typed.padding >> typed.dilation;
  auto problem = parseProblemFlags(typed);
  std::string message;
  if (problem.ok()) {
    problem->dtype = type;
    const auto planned = planOnNpu(*problem, pass, *machineByName(soc));
    ASSERT_FALSE(planned.ok()) << flags;
    message = planned.error().message;
  } else {
    message = problem.error().message;
  }
  for (const char* word : words) EXPECT_THAT(message, HasSubstr(word)) << flags;
}

TEST(CubeRules, CasesThatAChipIsKnownToRefuse) {
  const char* a2 = "ascend910b2";
  // The minimal tile of a kernel that reaches 255 rows does not fit L1.
  refused("1,1,2,510,510 1,1,2,2,2 1 0 1,255,255", Pass::kDx, DType::kF16, a2,
          {"L1 (A ", "ascend910b2 has 524288", "lower"});
  refused("1,1,2,257,257 1,1,2,2,2 1 0 1,255,255", Pass::kDw, DType::kF16, a2, {"L1 (A ", "B 2", "524288"});
  refused("1,128,1,14,20 128,128,1,3,3 1,64,1 0,1,1 1", Pass::kDw, DType::kF32, a2, {"stride.h = 64", "at most 63"});
  refused("1,1,4,4,4 1,1,2,2,2 1 0 1,1,0", Pass::kDx, DType::kF16, a2, {"dilation.w = 0"});
  refused("1,7,4,4,4 8,3,1,1,1 1 0 1", Pass::kDx, DType::kF16, a2, {"7", "3"});
  refused("1,1,4,4,2 1,1,1,1,1 1 0,0,0,0,-1,-1 1", Pass::kDw, DType::kF16, a2, {"-1"});
  refused("1,65536,4,4,4 256,1,1,1,1 1 0 1", Pass::kDw, DType::kF16, a2, {"65536"});
  refused("1,1,34,8,8 1,1,1,2,2 1 0 2147483647,1,1", Pass::kDw, DType::kF16, "ascend950pr_9599",
          {"dilation.d = 2147483647 must be at most 2147483646"});
  refused("1,8,4,4,4 8,8,1,1,1 1 0 1", Pass::kDx, DType::kBf16, "ascend910a",
          {"bf16 is no type of the cube of ascend910a, which has f16", "ascend910b1"});
  // Accepted: one less, and a dilation beyond the limit where nothing is dilated does not exist.
  ProblemFlags one;
  one.input = "1,1,34,8,8", one.weight = "1,1,1,2,2", one.dilation = "2147483646,1,1";
  Problem p = *parseProblemFlags(one);
  p.dtype = DType::kBf16;
  EXPECT_TRUE(planOnNpu(p, Pass::kDw, *machineByName("ascend950pr_9599")).ok());
}

TEST(CubeRules, DepthsHaveALimitOfTheirOwn) {
  Problem p = handProblem();
  p.stride = Dhw{4, 1, 1};
  Machine m = toyMachine();
  m.npu.limits.strideD = 3;
  EXPECT_THAT(checkChip(p, Pass::kDx, m), ElementsAre(HasSubstr("stride.d = 4 must be at most 3")));
  m.npu.limits.strideD = 4;
  m.npu.limits.strideHw = 3;
  EXPECT_THAT(checkChip(p, Pass::kDx, m), IsEmpty());
}

TEST(CubeRules, ExtentsThatDoNotFollowAreRefused) {
  Problem p = handProblem();
  p.in = Dhw{8, 8, 8}, p.out = Dhw{8, 8, 8}, p.kernel = Dhw{3, 3, 3};
  p.padBefore = p.padAfter = Dhw{1, 1, 1}, p.stride = Dhw{1, 2, 1};
  const auto planned = planOnNpu(p, Pass::kDx, *machineByName("ascend910b2"));
  ASSERT_FALSE(planned.ok());
  EXPECT_THAT(planned.error().message, HasSubstr("out.h = 8 does not follow from the input; it must be 4"));
  p = handProblem();
  p.out = Dhw{3, 8, 16};
  EXPECT_FALSE(planOnNpu(p, Pass::kDw, *machineByName("ascend950pr_9599")).ok());
  p = handProblem();
  p.out.w = 1;
  EXPECT_FALSE(planOnNpu(p, Pass::kDx, *machineByName("ascend950pr_9599")).ok());
}

TEST(CubeRules, StridesAndTypesThatNoTensorHas) {
  // Strides of the batch and channel axes cannot be said; neither can types no cube multiplies.
  const auto five = problemFromJson(
      R"({"name": "s", "n": 1, "ci": 1, "co": 1, "input": [1, 4, 4], "output": [1, 4, 4], "kernel": [1, 1, 1], "stride": [2, 1, 1, 1, 1]})");
  ASSERT_FALSE(five.ok());
  EXPECT_THAT(five.error().message, HasSubstr("'stride' = [2,1,1,1,1] must be [d, h, w]"));
  for (const char* type : {"int32", "hif8", "fp8_e4m3"}) EXPECT_FALSE(parseDType(type).ok()) << type;
  Problem mixed = handProblem();
  mixed.formats[static_cast<std::size_t>(TensorId::kW)] = TensorFormat{DType::kF32, Layout::kNcdhw, {}};
  EXPECT_THAT(checkChip(mixed, Pass::kDx, toyMachine()), ElementsAre(HasSubstr("dy is f16 and w is f32")));
  EXPECT_THAT(checkChip(handProblem(), Pass::kDb, toyMachine()), ElementsAre(HasSubstr("db is a sum")));
  Problem empty = handProblem();
  empty.batch = 0;
  EXPECT_THAT(checkChip(empty, Pass::kDx, toyMachine()), ElementsAre(HasSubstr("batch = 0")));
}

}  // namespace
}  // namespace cubejit
