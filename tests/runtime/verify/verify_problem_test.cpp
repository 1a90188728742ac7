// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of verification itself: that its problems cover every feature, its data stays exact, its pages are
// guarded, and that a wrong answer is found and shrunk.
#include "runtime/verify/verify_problem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "runtime/verify/guarded_buffer.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/reference_conv.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

using Verdict = VerifyOutcome::Verdict;

TEST(RandomProblem, CoversEveryFeatureAndRepeats) {
  std::mt19937_64 random(1), again(1);
  int ranks[4] = {}, emptyBatch = 0, transposed = 0, depthwise = 0, multiplier = 0, odd = 0, dilated = 0,
      asymmetric = 0, kernelBeyondInput = 0, outputOne = 0, outputPadding = 0, layouts[2] = {};
  for (int i = 0; i < 2000; ++i) {
    const Problem p = randomProblem(random);
    ASSERT_TRUE(p == randomProblem(again));
    ASSERT_TRUE(checkProblem(p).ok());
    ASSERT_LE(insideMultiplyAdds(p), 2e6);
    ++ranks[p.rank];
    ++layouts[static_cast<int>(p.layout)];
    emptyBatch += p.batch == 0;
    transposed += p.transposed;
    depthwise += p.groups > 1 && p.cin == p.groups;
    multiplier += p.groups > 1 && p.cin == p.groups && p.cout > p.groups;
    odd += p.groups > 1 && p.cin / p.groups > 1 && p.cin / p.groups % 8 != 0;
    for (int a = 0; a < 3; ++a) {
      dilated += p.dilation[a] > 1 && p.kernel[a] > 1;
      asymmetric += p.padBefore[a] != p.padAfter[a];
      kernelBeyondInput += p.kernel[a] > p.in[a];
      outputOne += p.out[a] == 1 && p.in[a] > 1;
      outputPadding += p.transposed && p.out[a] > (p.in[a] - 1) * p.stride[a] - p.padBefore[a] - p.padAfter[a] +
                                                      p.dilation[a] * (p.kernel[a] - 1) + 1;
    }
  }
  for (const int count : {ranks[1], ranks[2], ranks[3], emptyBatch, transposed, depthwise, multiplier, odd, dilated,
                          asymmetric, kernelBeyondInput, outputOne, outputPadding, layouts[0], layouts[1]}) {
    EXPECT_GT(count, 20);
  }
}

TEST(RandomIntegers, SumsOfProductsStayExact) {
  std::mt19937_64 random(2);
  for (const double summands : {10.0, 1e5, 1e6, 1e7}) {
    const auto a = randomIntegers(random, static_cast<std::int64_t>(summands), summands);
    const auto b = randomIntegers(random, static_cast<std::int64_t>(summands), summands);
    double worst = 0, nonZero = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      worst += std::fabs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
      nonZero += a[i] != 0.0F;
    }
    EXPECT_LT(worst, 16777216.0) << "even the sum of absolute values is an exact float";
    EXPECT_GT(nonZero, summands / 50) << "data that is nearly all zero proves nothing";
  }
  for (const float v : randomReals(random, 100000)) EXPECT_TRUE(v == 0.0F || std::fabs(v) >= 1e-6F);
}

TEST(GuardedBufferDeath, EndsAtAnUnreadablePage) {
  const GuardedBuffer buffer(12);
  ASSERT_NE(buffer.data(), nullptr);
  std::memset(buffer.data(), 1, 12);
  EXPECT_DEATH(
      {
        const volatile float read = buffer.data()[3];
        static_cast<void>(read);
      },
      "");
  EXPECT_NE(GuardedBuffer(0).data(), nullptr) << "an empty tensor still has an address";
}

TEST(VerifyProblem, PassesOnRandomProblemsAndData) {
  Session session;
  std::mt19937_64 random(7);
  for (int i = 0; i < 60; ++i) {
    VerifyRequest request;
    request.problem = randomProblem(random);
    request.passes = {true, true, true};
    request.threads = {1, 2, 3};
    request.seed = static_cast<std::uint64_t>(i);
    request.reals = i % 3 == 0;
    const VerifyOutcome outcome = verifyProblem(session, request);
    EXPECT_EQ(outcome.verdict, Verdict::kPassed) << outcome.message;
  }
}

// A loop that runs nothing stands for a generator that forgets results.
TEST(VerifyProblem, FindsResultsThatNobodyWroteAndShrinksThem) {
  Options options;
  options.parallelFor.run = [](void*, int, void (*)(void*, int), void*) {};
  Session session(options);
  VerifyRequest request;
  request.problem.batch = 2;
  request.problem.cin = request.problem.cout = 64;
  request.problem.in = request.problem.out = Dhw{1, 20, 20};
  request.problem.rank = 2;
  request.problem.kernel = Dhw{1, 3, 3};
  request.problem.padBefore = request.problem.padAfter = Dhw{0, 1, 1};
  request.passes = {true, false, false};
  request.threads = {2};
  const VerifyOutcome outcome = verifyProblem(session, request);
  ASSERT_EQ(outcome.verdict, Verdict::kFailed);
  EXPECT_EQ(outcome.message.rfind("dx: ", 0), 0U) << outcome.message;
  const Problem small = shrinkFailure(session, request);
  EXPECT_TRUE(checkProblem(small).ok());
  EXPECT_LT(insideMultiplyAdds(small) * 8, insideMultiplyAdds(request.problem));
  request.problem = small;
  EXPECT_EQ(verifyProblem(session, request).verdict, Verdict::kFailed);
}

// y = z + x of three channels in blocks of four, by a loop that may do more than it should.
VerifyOutcome verifySums(const std::function<void(const float* z, float* y)>& more) {
  VerifyRequest request;
  Problem& p = request.problem;
  p.groups = p.cin = p.cout = 3;
  p.in = p.out = Dhw{1, 2, 5};
  p.formats[static_cast<std::size_t>(TensorId::kX)] = TensorFormat{DType::kF32, Layout::kNdc1hwc0, {}, 4};
  p.formats[static_cast<std::size_t>(TensorId::kY)] = TensorFormat{DType::kF32, Layout::kNdc1hwc0, {}, 4};
  p.postOps.add = true;
  request.passes = maskOf(Pass::kY);
  return verifyRuns(request, [&](const Tensors& tensors, int) -> Status {
    const auto *x = static_cast<const float*>(tensors.x), *w = static_cast<const float*>(tensors.w),
               *z = static_cast<const float*>(tensors.z);
    auto* y = static_cast<float*>(tensors.y);
    for (int i = 0; i < 40; ++i) y[i] = i % 4 == 3 ? 0 : x[i] * w[i % 4] + z[i];
    more(z, y);
    return Unit{};
  });
}

TEST(VerifyRuns, FindsPaddingThatComesFromTheResidual) {
  const VerifyOutcome right = verifySums([](const float*, float*) {});
  EXPECT_EQ(right.verdict, Verdict::kPassed) << right.message;
  const VerifyOutcome wrong = verifySums([](const float* z, float* y) { y[7] += z[7]; });
  EXPECT_EQ(wrong.verdict, Verdict::kFailed);
  EXPECT_NE(wrong.message.find("y: padding at element 7"), std::string::npos) << wrong.message;
}

TEST(VerifyRuns, FindsWhatIsWrittenBeforeAResult) {
  const VerifyOutcome wrong = verifySums([](const float*, float* y) { y[-1] = 0; });
  EXPECT_EQ(wrong.verdict, Verdict::kFailed);
  EXPECT_EQ(wrong.message, "y: bytes before its memory were written");
}

TEST(VerifyRunsDeath, OperandsCannotBeWritten) {
  EXPECT_DEATH(verifySums([](const float* z, float*) { const_cast<float*>(z)[0] = 0; }), "");
}

TEST(VerifyProblem, WhatCannotBeCompiledFailsWithTheReason) {
  Session session;
  VerifyRequest request;
  request.problem.cin = 0;
  request.passes.dx = true;
  const VerifyOutcome outcome = verifyProblem(session, request);
  EXPECT_EQ(outcome.verdict, Verdict::kFailed);
  EXPECT_NE(outcome.message.find("cin = 0"), std::string::npos);
}

}  // namespace
}  // namespace cubejit
