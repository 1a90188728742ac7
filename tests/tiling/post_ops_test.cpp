// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are post-ops spelled in one way, is every spelling read back, and is what is none, or breaks a rule, refused with all its faults?
#include "cubejit/post_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tiling/check_problem.h"

namespace cubejit {
namespace {

using testing::HasSubstr;

TEST(PostOps, AreReadBackAsTheyAreSpelled) {
  for (const char* text : {"", "bias", "add", "bias,add", "relu", "bias,relu", "bias,add,leaky_relu:0.1",
                           "leaky_relu:-2.5", "clip:0:6", "add,clip:-1e-08:3.4028235e+38"}) {
    const auto post = parsePostOps(text);
    ASSERT_TRUE(post.ok()) << post.error().message;
    EXPECT_EQ(toString(*post), text);
    EXPECT_EQ(post->any(), *text != 0);
  }
  EXPECT_NE(*parsePostOps("leaky_relu:0.1"), *parsePostOps("leaky_relu:0.2"));
}

TEST(PostOps, EveryFaultOfATextIsNamed) {
  const auto post = parsePostOps("bias,gelu,relu,bias,clip:1,leaky_relu:x,");
  ASSERT_FALSE(post.ok());
  for (const char* part :
       {"unknown post-op 'gelu'", "bias is named twice", "there are two activations; the last one is clip",
        "clip takes 2 finite numbers", "leaky_relu takes 1 finite numbers", "unknown post-op ''"})
    EXPECT_THAT(post.error().message, HasSubstr(part));
  for (const char* text : {"relu,bias", "relu,add", "add,bias", "relu,bias,add", "relu:1", "clip:0:nan", "clip:0:inf",
                           "leaky_relu:1e99", "clip:0:6:7", "Bias", "bias "})
    EXPECT_FALSE(parsePostOps(text).ok()) << text;
}

// A decimal comma makes two post-ops of a number.
TEST(PostOps, NumbersAreWrittenWithAPoint) {
  const auto said = [](const char* text) { return parsePostOps(text).error().message; };
  EXPECT_THAT(said("leaky_relu:0,5"), HasSubstr("write numbers with a point: leaky_relu:0.5"));
  EXPECT_THAT(said("bias,clip:0:6,5"), HasSubstr("write numbers with a point: clip:0:6.5"));
  EXPECT_THAT(said("clip:0,5:6"), HasSubstr("write numbers with a point: clip:0.5:6"));
  EXPECT_THAT(said("leaky_relu:1e99"), HasSubstr("of f32 (at most 3.4028235e+38)"));
  EXPECT_THAT(said("bias,5"), HasSubstr("unknown post-op '5'"));
}

TEST(PostOps, ProblemsRefuseNumbersThatMeanNothing) {
  const auto rulesOf = [](const PostOps& post, Layout layout = Layout::kNdhwc) {
    Problem p;
    p.cout = 5;
    p.layout = layout;
    p.postOps = post;
    const Status status = checkProblem(p);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(rulesOf({true, true, Activation::kClip, -1, 1}), "");
  EXPECT_THAT(rulesOf({false, false, Activation::kClip, 2, 1}),
              HasSubstr("post_ops = clip:2:1: the lower limit is above the upper one"));
  EXPECT_THAT(rulesOf({false, false, Activation::kRelu, 2, 0}), HasSubstr("numbers that nothing takes must be 0"));
  EXPECT_THAT(rulesOf({false, false, Activation::kLeakyRelu, std::nanf(""), 0}), HasSubstr("must be finite"));
  EXPECT_THAT(rulesOf({false, false, static_cast<Activation>(9), 0, 0}),
              HasSubstr("the activation is not one there is"));
  // Channels that only fill up a block stay zero.
  EXPECT_THAT(rulesOf({false, false, Activation::kClip, 1, 2}, Layout::kNdc1hwc0),
              HasSubstr("which must be within the limits"));
  EXPECT_EQ(rulesOf({false, false, Activation::kClip, 1, 2}), "");
}

}  // namespace
}  // namespace cubejit
