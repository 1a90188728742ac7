// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does each layout find the bias of a byte of y, are programs without post-ops left alone, and is y with post-ops stored by kernels
// that have them and by no others?
#include "algorithms/kit/lower/post_ops.h"

#include <gtest/gtest.h>

#include <random>

#include "algorithms/kit/lower/result_channels.h"
#include "algorithms/lower.h"
#include "codegen/tile/coordinates.h"
#include "codegen/tile/verify.h"
#include "codegen/tile/walk.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

TEST(ResultChannels, DistancesAddUpAsTheirChannelsDo) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 300; ++i) {
    Problem p = randomProblem(random);
    p.batch = std::max<std::int64_t>(1, p.batch);
    randomFormats(random, p, true, true);
    ResultChannels to = ResultChannels::of(p);
    to.pitch = to.each + 64;
    const IndexMap map = indexMap(p, TensorId::kY);
    for (int e = 0; e < 20; ++e) {
      // One cursor moves along each axis.
      ChannelPlace sum;
      std::array<std::int64_t, 5> at{};
      for (std::size_t a = 0; a < 5; ++a) {
        at[a] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(map.extent[a]));
        const ChannelPlace part = to.along(map.along(a, at[a]) * to.element);
        sum.block += part.block;
        sum.channel += part.channel;
      }
      EXPECT_EQ(sum.block * to.each + sum.channel, at[1]) << toFlags(p);
    }
  }
}

TEST(PostOpsPass, StoresYByKernelsWithPostOpsAlone) {
  const Machine machine = machineOfSmallL2(IsaLevel::kAvx2);
  std::mt19937_64 random(4);
  int fused = 0, behind = 0;
  for (int i = 0; i < 200; ++i) {
    Problem p = randomProblem(random, 1e5);
    p.batch = std::max<std::int64_t>(1, p.batch);
    if (i % 2 == 1) randomFormats(random, p, true, true);
    randomPostOps(random, p);
    p.postOps.bias = true;
    const auto bare = choosePlan(p, Pass::kY, machine, false);
    ASSERT_TRUE(bare.ok()) << bare.error().message;
    const auto program = lower(p, bare->plan, machine);
    ASSERT_TRUE(program.ok()) << program.error().message;
    const Status sound = verify(*program);
    ASSERT_TRUE(sound.ok()) << sound.error().message;
    for (const Phase& phase : program->phases) {
      walkCalls(phase, [&](const CallSite& site) {
        const Kernel& kernel = program->kernels[static_cast<std::size_t>(site.variant->kernel)];
        const int buffer = phase.streams[static_cast<std::size_t>(site.call->c)].buffer;
        const bool stores = program->buffers[static_cast<std::size_t>(buffer)].role == BufferRole::kY;
        EXPECT_EQ(postOpsOf(kernel) == p.postOps, stores) << site.call->name << "\n" << toFlags(p);
        (std::holds_alternative<Contract>(kernel) ? fused : behind) += stores ? 1 : 0;
        return true;
      });
    }
  }
  EXPECT_GT(fused, 200);
  EXPECT_GT(behind, 200);
}

TEST(PostOpsPass, LeavesOtherProgramsAlone) {
  const Machine machine = machineOfSmallL2(IsaLevel::kAvx2);
  std::mt19937_64 random(5);
  for (int i = 0; i < 20; ++i) {
    const Problem p = randomProblem(random, 1e5);
    Problem post = p;
    post.postOps.activation = Activation::kRelu;
    for (const Pass g : kPasses) {
      const auto choice = choosePlan(p, g, machine, false);
      ASSERT_TRUE(choice.ok());
      const auto program = lower(p, choice->plan, machine), with = lower(post, choice->plan, machine);
      ASSERT_TRUE(program.ok() && with.ok());
      EXPECT_EQ(*program == *with, g != Pass::kY || p.batch == 0) << toFlags(p);
      const auto same = addPostOps(*program, p, false, machine.isa.lanes());
      ASSERT_TRUE(same.ok());
      EXPECT_EQ(*same, *program);
    }
  }
}

}  // namespace
}  // namespace cubejit
