// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: has every element of y its channel's bias, in every layout and algorithm, is y stored by kernels with post-ops and by no others, and do
// other passes know nothing of them?
#include "algorithms/kit/lower/epilogue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "algorithms/lower.h"
#include "codegen/tile/verify.h"
#include "codegen/tile/walk.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/verify_plan.h"
#include "tiling/coordinates.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

TEST(Epilogue, ExpressionsAreTheirDefinitions) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {-kInf, -2, -0.5F, -0.25F, -0.0F, 0, 0.25F, 0.5F, 3, kInf, kNan};
  const auto same = [](float x, float y) { return std::isnan(x) ? std::isnan(y) : x == y; };
  const auto activated = [](const PostOps& p, float v) {
    switch (p.activation) {
      case Activation::kNone: break;
      case Activation::kRelu: return std::isnan(v) || v > 0 ? v : 0;
      case Activation::kLeakyRelu: return v > 0 ? v : p.alpha * v;
      case Activation::kClip: return std::isnan(v) ? v : std::min(std::max(v, p.alpha), p.beta);
    }
    return v;
  };
  const auto slope = [](const PostOps& p, float v, float y) {
    switch (p.activation) {
      case Activation::kNone: break;
      case Activation::kRelu: return y <= 0 ? 0 : v;
      case Activation::kLeakyRelu: return y > 0 ? v : p.alpha * v;
      case Activation::kClip: return y <= p.alpha || y >= p.beta ? 0 : v;
    }
    return v;
  };
  std::vector<PostOps> all = {
      {}, {.activation = Activation::kRelu}, {.activation = Activation::kClip, .alpha = -0.5F, .beta = 0.5F}};
  for (const float alpha : {-0.5F, 0.0F, 0.25F, 1.0F, 3.0F})
    all.push_back({.activation = Activation::kLeakyRelu, .alpha = alpha});
  for (PostOps post : all) {
    for (const float v : values) {
      for (const float w : values) {
        EXPECT_TRUE(same(slopeOf(post).evaluate(v, w, 0, 0), slope(post, v, w)))
            << toString(post) << " " << v << " " << w;
        for (const bool bias : {false, true}) {
          post.bias = bias;
          post.add = !bias;
          const float sum = v + w, got = expressionOf(post).evaluate(v, bias ? w : 7, 0, bias ? 7 : w);
          EXPECT_TRUE(same(got, activated(post, sum))) << toString(post) << " " << v << " " << w << ": " << got;
        }
      }
    }
  }
}

TEST(Epilogue, StoresYByKernelsWithPostOpsAlone) {
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
        const bool stores = program->buffers[static_cast<std::size_t>(buffer)].use == Buffer::Use::kOutput;
        const Expression* f = expressionOf(kernel);
        EXPECT_EQ(f != nullptr && *f == expressionOf(p.postOps), stores) << site.call->name << "\n" << toFlags(p);
        (std::holds_alternative<Contract>(kernel) ? fused : behind) += stores ? 1 : 0;
        return true;
      });
    }
  }
  EXPECT_GT(fused, 200);
  EXPECT_GT(behind, 200);
}

// The channel of every element of y's memory; -1: the element is padding.
std::vector<std::int64_t> channelsOfMemory(const Problem& p) {
  const IndexMap map = indexMap(p, TensorId::kY);
  std::vector<std::int64_t> channels(static_cast<std::size_t>(map.elements), -1);
  for (std::int64_t n = 0; n < p.batch; ++n) {
    for (std::int64_t c = 0; c < p.cout; ++c) {
      for (std::int64_t pixel = 0; pixel < p.out.volume(); ++pixel) {
        const std::int64_t h = pixel / p.out.w % p.out.h, d = pixel / p.out.w / p.out.h;
        channels[static_cast<std::size_t>(map.at({n, c, d, h, pixel % p.out.w}))] = c;
      }
    }
  }
  return channels;
}

// An element that a kernel finishes: where it is stored, where its bias is, and whether it has an addend.
struct Finished {
  std::int64_t at = 0, bias = 0;
  bool adds = true;
};

std::vector<Finished> finishedBy(const Kernel& kernel) {
  std::vector<Finished> all;
  if (const auto* c = std::get_if<Contract>(&kernel)) {
    for (const Accumulator& acc : c->accumulators) {
      const auto inside = [](const LaneRange& r, int lane) { return r.all() || (lane >= r.lo && lane < r.hi); };
      for (int l = 0; l < c->lanes; ++l) {
        if (inside(acc.lanes, l))
          all.push_back({acc.cOffset + l * elementBytes(c->result), acc.dOffset + l * 4, inside(acc.live(), l)});
      }
    }
    return all;
  }
  const Map& m = std::get<Map>(kernel);
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.cols; ++c)
      all.push_back({r * m.dstPitch + c * elementBytes(m.to), r * m.dRow + c * m.dColumn});
  }
  return all;
}

TEST(Epilogue, ElementsHaveTheirChannelsBiasAndPaddingHasNoAddend) {
  std::mt19937_64 random(6);
  std::int64_t elements = 0, filling = 0;
  for (int i = 0; i < 400; ++i) {
    const Machine machine = machineOfSmallL2(i % 3 == 0 ? IsaLevel::kAvx2 : IsaLevel::kAvx512);
    Problem p = randomProblem(random, 2e4);
    p.batch = std::max<std::int64_t>(1, p.batch);
    randomFormats(random, p, true, true);
    p.postOps = {true, true};
    const auto choice = choosePlan(p, Pass::kY, machine, true);
    ASSERT_TRUE(choice.ok()) << choice.error().message;
    const Candidate& candidate = choice->considered[random() % choice->considered.size()];
    if (!candidate.refusedBy.empty()) continue;
    const TilingPlan& plan = candidate.plan;
    const auto program = lower(p, plan, machine);
    ASSERT_TRUE(program.ok()) << program.error().message << toFlags(p);
    const std::vector<std::int64_t> channels = channelsOfMemory(p);
    const std::int64_t size = byteSize(formatOf(p, TensorId::kY).dtype);
    // How biases lie: blocks of channels that are neighbours in y, the only one again and again.
    const TensorFormat y = formatOf(p, TensorId::kY);
    const bool single = p.out.volume() == 1 && y.layout != Layout::kNdc1hwc0;
    const std::int64_t c0 = y.blockChannels(), whole = (p.cout + c0 - 1) / c0 * c0,
                       each = single || y.layout == Layout::kNdhwc ? p.cout
                              : y.layout != Layout::kNdc1hwc0      ? 1
                              : p.out.h * p.out.w == 1             ? whole
                                                                   : c0,
                       blocks = (p.cout + each - 1) / each;
    std::int64_t pitch = 0;  // of a block of biases, in elements
    for (const Buffer& buffer : program->buffers) pitch += buffer.name == "biases" ? buffer.bytes / 4 / blocks : 0;
    for (const Phase& phase : program->phases) {
      const bool right = walkCalls(phase, [&](const CallSite& site) {
        const Kernel& kernel = program->kernels[static_cast<std::size_t>(site.variant->kernel)];
        if (const Expression* f = expressionOf(kernel); f == nullptr || !f->any()) return true;
        const bool stays = std::holds_alternative<Map>(kernel);  // the bias of all repetitions is one
        for (std::int64_t rep = 0; rep < site.repeat; ++rep) {
          for (const Finished& f : finishedBy(kernel)) {
            const std::int64_t at = (site.at[2] + rep * site.repeatStep[2] + f.at) / size,
                               bias = (site.at[3] + (stays ? 0 : rep * site.repeatStep[3]) + f.bias) / 4,
                               of = bias / pitch * each +
                                    (each > p.cout || (blocks > 1 && each > 1) ? bias % pitch : bias % pitch % each),
                               channel = channels[static_cast<std::size_t>(at)];
            (channel < 0 ? filling : elements) += 1;
            if (channel < 0 ? of < p.cout || f.adds : of != channel || !f.adds) return false;
          }
        }
        return true;
      });
      EXPECT_TRUE(right) << phase.name << ": " << toFlags(p) << "\n" << planToJson(plan);
    }
  }
  EXPECT_GT(elements, 100000);
  if (algorithmNamed("grouped", Pass::kDx)) {  // its vectors of groups end in padding
    EXPECT_GT(filling, 500);
  }
}

TEST(Epilogue, LeavesOtherProgramsAlone) {
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
    }
  }
}

}  // namespace
}  // namespace cubejit
