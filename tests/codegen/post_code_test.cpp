// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of kernels with post-ops, and of slopes backwards: do both interpreters and the code leave the same bits, at zeros and bounds too?
#include "codegen/units/post_code.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "codegen/tile/element.h"
#include "codegen/tile/print.h"
#include "tests/support/kernel_agreement.h"

namespace cubejit {
namespace {

class PostCodes : public testing::TestWithParam<IsaLevel> {
 protected:
  HostIsa isa() const { return isaOf(GetParam()); }
  int below(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }

  PostOps randomPost(bool backward) {
    PostOps post;
    post.activation = static_cast<Activation>(backward ? 1 + below(3) : below(4));
    if (!backward) {
      post.bias = below(2) == 0;
      post.add = below(2) == 0;
    }
    constexpr float kSlopes[] = {0.25F, 3, 0, -0.5F};  // sums' slopes are not negative
    if (post.activation == Activation::kLeakyRelu) post.alpha = kSlopes[below(backward ? 3 : 4)];
    if (post.activation == Activation::kClip) {
      post.alpha = -0.5F;
      post.beta = 0.5F;
    }
    if (!post.any()) post.bias = true;
    return post;
  }
  // Words of which either half is a number of 16 bits, and zeros of both signs and bounds among them.
  std::vector<float> numbers(std::size_t count) {
    constexpr float kKnown[] = {0.0F, -0.0F, 0.5F, -0.5F, 1.0F};
    std::uniform_real_distribution<float> real(-1, 1);
    const auto one = [&] { return floatToBf16(below(3) == 0 ? kKnown[below(5)] : real(rng_)); };
    std::vector<float> words(count);
    for (float& word : words) word = floatOf(one() | std::uint32_t{one()} << 16);
    return words;
  }

  // Results begin at word 0 of `memory`, z at word `z` and what is read through d at word `d`.
  void agree(const Kernel& kernel, KernelArgs args, const std::vector<float>& memory, std::size_t z, std::size_t d) {
    SCOPED_TRACE(print(kernel, Detail::kFull));
    args.residual = static_cast<std::int64_t>(z * 4);
    agreeInBits(kernel, GetParam(), args, memory, d);
  }

  std::mt19937 rng_{3};
};

TEST_P(PostCodes, ContractsEndWithThem) {
  const int lanes = isa().lanes();
  const std::vector<float> ones(64, 1.0F), b = numbers(256);
  for (int n = 0; n < 200 && !HasFailure(); ++n) {
    Contract c;
    c.lanes = lanes;
    c.label = "sum";
    c.post = randomPost(false);
    c.result = static_cast<Element>(below(3));
    Step step;
    AOperand one;
    const int sums = 1 + below(4);
    for (std::int16_t i = 0; i < sums; ++i) {
      step.b.push_back({4 * lanes * i, {}});
      one.uses.push_back({i, i});
      const auto live = static_cast<std::int16_t>(below(2) == 0 ? 0 : 1 + below(lanes));
      c.accumulators.push_back(
          {static_cast<std::int32_t>(i * lanes * elementBytes(c.result)), {0, live}, 4 * lanes * i});
    }
    step.a.push_back(one);
    c.sections = {{{step}, 0, 0}};
    const std::vector<std::int64_t> list = {1, 0, 0, 1};
    KernelArgs args;
    args.a = ones.data();
    args.b = b.data();
    args.list = list.data();
    args.repeat = 1 + below(3);  // each where the one before was
    args.dRepeat = 4 * below(8);
    agree(c, args, numbers(256), 64, 128);
  }
}

TEST_P(PostCodes, CopiesEndWithThem) {
  const std::vector<float> source = numbers(256);
  for (int n = 0; n < 200 && !HasFailure(); ++n) {
    Map m{.lanes = isa().lanes(), .rows = 1 + below(3), .cols = 1 + below(20), .zeros = below(4) == 0};
    m.label = "copy";
    m.post = randomPost(false);
    m.to = static_cast<Element>(below(3));
    m.srcPitch = 4 * m.cols;
    m.dstPitch = elementBytes(m.to) * m.cols;
    m.biasColumn = 4 * below(2);
    m.biasRow = m.biasColumn == 0 ? 4 * m.lanes * below(2) : 4 * below(8);
    std::vector<float> memory = numbers(256);
    const auto lanes = static_cast<std::size_t>(m.lanes);
    for (std::size_t i = 0; m.biasColumn == 0 && i < 4 * lanes; ++i)  // a vector of each bias
      memory[128 + i] = memory[128 + i / lanes * lanes];
    KernelArgs args;
    args.a = source.data();
    args.repeat = 1;
    agree(m, args, memory, 64, 128);
  }
}

TEST_P(PostCodes, SlopesAreThoseOfTheResult) {
  const std::vector<float> dy = numbers(128);
  for (int n = 0; n < 200 && !HasFailure(); ++n) {
    Map m{.lanes = isa().lanes(), .rows = 1, .cols = 1 + below(60)};
    m.label = "slope";
    m.post = randomPost(true);
    m.backward = true;
    m.from = static_cast<Element>(below(3));
    m.to = static_cast<Element>(below(3));
    m.result = static_cast<Element>(below(3));
    m.srcPitch = elementBytes(m.from) * m.cols;
    m.dstPitch = elementBytes(m.to) * m.cols;
    KernelArgs args;
    args.a = dy.data();
    args.repeat = 1;
    std::vector<float> memory = numbers(256);
    for (std::size_t i = 128; i < memory.size(); ++i) {  // of results no number, of both signs and in every type
      if (below(8) == 0) memory[i] = floatOf(below(2) == 0 ? 0x7fc07fc0U : 0xffc0ffc0U);
    }
    agree(m, args, memory, 0, 128);
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, PostCodes, testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16),
                         [](const auto& level) { return std::string(toString(level.param)); });

}  // namespace
}  // namespace cubejit
