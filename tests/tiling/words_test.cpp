// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is a word that nobody knows answered with the one that was meant: by other projects' names for it, by letters, and by nothing where nothing
// is like it?
#include "tiling/words.h"

#include <gmock/gmock.h>

#include "cubejit/options.h"
#include "cubejit/post_ops.h"
#include "cubejit/words.h"

namespace cubejit {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

TEST(Words, NamesOfOtherProjectsAreKnown) {
  const Words types{"f32", "f16", "bf16", "hf32"}, layouts{"ncdhw (plain)", "ndhwc (channels-last)", "ndc1hwc0"},
      passes{"y", "dx", "dw", "db"}, posts{"bias", "add", "relu", "leaky_relu:SLOPE", "clip:LOW:HIGH"};
  struct Row {
    const Words& known;
    const char *theirs, *ours;
  };
  for (const auto& [known, theirs, ours] : std::vector<Row>{{types, "fp32", "f32"},
                                                            {types, "float32", "f32"},
                                                            {types, "float", "f32"},
                                                            {types, "half", "f16"},
                                                            {types, "FP16", "f16"},
                                                            {types, "float16", "f16"},
                                                            {types, "bfloat16", "bf16"},
                                                            {types, "tf32", "hf32"},
                                                            {layouts, "nchw", "ncdhw"},
                                                            {layouts, "ncw", "ncdhw"},
                                                            {layouts, "nhwc", "ndhwc"},
                                                            {layouts, "channels_last", "ndhwc"},
                                                            {layouts, "nChw16c", "ndc1hwc0"},
                                                            {passes, "forward", "y"},
                                                            {passes, "fwd", "y"},
                                                            {passes, "backward_data", "dx"},
                                                            {passes, "bwd_d", "dx"},
                                                            {passes, "bwd_w", "dw"},
                                                            {passes, "grad_bias", "db"},
                                                            {posts, "leakyrelu", "leaky_relu:SLOPE"},
                                                            {posts, "sum", "add"},
                                                            {posts, "clamp", "clip:LOW:HIGH"}})
    EXPECT_EQ(nearestWord(theirs, known), ours) << theirs;
}

TEST(Words, OneMeaningOfAWordIsTheOneThatIsKnown) {
  EXPECT_EQ(nearestWord("weight", {"dy", "x", "w"}), "w");
  EXPECT_EQ(nearestWord("fp32", {"y", "dx"}), "") << "no type is a pass";
}

TEST(Words, LettersAreComparedWhereNoNameIsKnown) {
  EXPECT_EQ(nearestWord("plna", {"plan", "dump"}), "plan");
  EXPECT_EQ(nearestWord("F32", {"f16", "f32"}), "f32");
  EXPECT_EQ(nearestWord("leaky_rleu:0.1", {"relu", "leaky_relu:SLOPE"}), "leaky_relu:SLOPE");
  EXPECT_EQ(nearestWord("zigzag", {"f16", "f32"}), "");
  EXPECT_EQ(nearestWord(std::string(100'000, 'x'), {"f16"}), "");
}

TEST(Words, EveryOptionAnswersWithTheNearestAndAllThereAre) {
  Problem problem;
  for (const Error& error :
       {parseDType("fp32").error(), applyFormats(problem, "", "nchv").error(), parsePass("forward").error(),
        parseTensor("grad_output").error(), parseIsa("avx512_core").error(), parseBackend("jit").error(),
        parseMathMode("fast").error(), parseTuneMode("of").error(), parseTuneGoal("cycle").error(),
        parseAlgorithm("wino").error(), parsePostOps("residual").error(), parseVerboseTopics("caches").error(),
        parseJitProfile("perf_map").error()}) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidProblem) << error.message;
    EXPECT_THAT(error.message, AllOf(HasSubstr("unknown "), HasSubstr("; the nearest is "), HasSubstr("; there are ")));
  }
  EXPECT_EQ(parsePass("forward").error().message, "unknown pass 'forward'; the nearest is y; there are y, dx, dw, db");
  EXPECT_THAT(parseDType("zigzag").error().message, Not(HasSubstr("the nearest")));
}

}  // namespace
}  // namespace cubejit
