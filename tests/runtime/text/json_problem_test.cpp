// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the JSON forms: they read back what they wrote, refuse what they do not know, and the suites we ship are legal.
#include "runtime/text/json_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/verify/random_problem.h"
#include "tests/support/plan_fields.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

std::string problemRefusal(const std::string& text) {
  const auto p = problemFromJson(text);
  return p.ok() ? "" : p.error().message;
}

class JsonFile : public ::testing::Test {
 protected:
  void SetUp() override { path_ = ::testing::TempDir() + "cubejit_json_" + std::to_string(getpid()) + ".jsonl"; }
  void TearDown() override { std::remove(path_.c_str()); }
  void write(const std::string& text) { std::ofstream(path_) << text; }
  std::string path_;
};

const char* const kGood =
    R"({"name": "a", "rank": 2, "n": 1, "ci": 4, "co": 8, "groups": 2, "input": [1, 8, 9], "output": [1, 8, 9], )"
    R"("kernel": [1, 3, 3], "stride": [1, 1, 1], "pad": [0, 0, 1, 1, 1, 1], "dilation": [1, 1, 1], "gflop": 0.1})";

TEST(JsonProblem, ReadsBackWhatItWrote) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 1000; ++i) {
    Problem p = randomProblem(random);
    p.name = "p" + std::to_string(i);
    if (i % 2 == 0) {
      randomFormats(random, p, true, true);
      for (auto& format : p.formats) {
        if (format) format->strides = {};  // views are no part of a file
      }
      randomPostOps(random, p);
    }
    const auto back = problemFromJson(problemToJson(p));
    ASSERT_TRUE(back.ok()) << back.error().message;
    for (const TensorId t : kTensorIds) {
      TensorFormat format = formatOf(p, t);
      if (isBias(t)) format.layout = Layout::kNcdhw;
      EXPECT_TRUE(formatOf(*back, t) == format) << toString(t) << " of " << problemToJson(p);
    }
    EXPECT_EQ(problemToJson(*back), problemToJson(p));
    p.dtype = back->dtype, p.layout = back->layout, p.formats = back->formats;
    EXPECT_TRUE(*back == p) << problemToJson(p);
    EXPECT_EQ(back->name, p.name);
  }
}

TEST(JsonProblem, MaySayTypesAndLayouts) {
  const std::string good = kGood;
  const auto with = [&](const std::string& more) { return good.substr(0, good.size() - 1) + ", " + more + "}"; };
  const auto p = problemFromJson(with(R"("dtype": "bf16,dw=f32", "layout": "ncdhw,y=ndhwc")"));
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(formatOf(*p, TensorId::kX).dtype, DType::kBf16);
  EXPECT_EQ(formatOf(*p, TensorId::kDw).dtype, DType::kF32);
  EXPECT_EQ(formatOf(*p, TensorId::kX).layout, Layout::kNcdhw);
  EXPECT_EQ(formatOf(*p, TensorId::kY).layout, Layout::kNdhwc);
  EXPECT_THAT(problemRefusal(with(R"("dtype": "f8")")), HasSubstr("unknown dtype 'f8'"));
  EXPECT_THAT(problemRefusal(with(R"("layout": "zigzag")")), HasSubstr("unknown layout 'zigzag'"));
}

TEST(JsonProblem, SuitesWeShipAreLegal) {
  int problems = 0;
  for (const auto& file : std::filesystem::directory_iterator(CUBEJIT_SOURCE_DIR "/bench/shapes")) {
    const auto suite = readSuite(file.path());
    ASSERT_TRUE(suite.ok()) << suite.error().message;
    for (const Problem& p : *suite) {
      const Status legal = checkProblem(p);
      EXPECT_TRUE(legal.ok()) << file.path() << " " << p.name << ": " << (legal.ok() ? "" : legal.error().message);
      ++problems;
    }
  }
  EXPECT_GT(problems, 50);
}

TEST(JsonProblem, RefusalsNameTheKeys) {
  ASSERT_EQ(problemRefusal(kGood), "");
  EXPECT_THAT(problemRefusal("[1, 2]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(problemRefusal("{\"name\": "), HasSubstr("not a JSON object"));
  EXPECT_THAT(problemRefusal("{}"), testing::AllOf(HasSubstr("'n' is missing"), HasSubstr("'ci' is missing"),
                                                   HasSubstr("'input' is missing")));
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kGood;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_THAT(problemRefusal(with("\"groups\"", "\"group\"")), HasSubstr("'group' is not a key"));
  EXPECT_THAT(problemRefusal(with("\"groups\"", "\"ci\"")), HasSubstr("has the key 'ci' twice"));
  EXPECT_THAT(problemRefusal(with("\"ci\": 4", "\"ci\": 4.5")),
              HasSubstr("'ci' = 4.5 must be a whole number from -2^63 to 2^63 - 1"));
  EXPECT_THAT(problemRefusal(with("\"ci\": 4", "\"ci\": \"4\"")), HasSubstr("'ci'"));
  EXPECT_THAT(problemRefusal(with("\"ci\": 4", "\"ci\": 18446744073709551615")),
              HasSubstr("'ci' = 18446744073709551615 must be a whole number from -2^63"));
  EXPECT_THAT(problemRefusal(with("[1, 3, 3]", "[3, 3]")), HasSubstr("'kernel' = [3,3] must be [d, h, w]"));
  EXPECT_THAT(problemRefusal(with("[0, 0, 1, 1, 1, 1]", "[1, 1]")), HasSubstr("'pad' = [1,1] must be"));
  EXPECT_THAT(problemRefusal(with("\"rank\": 2", "\"transposed\": 1")),
              HasSubstr("'transposed' = 1 must be true or false"));
}

// Those that a double cannot hold end the parser itself; those that 64 bits cannot are read as doubles.
TEST(JsonProblem, NumbersOutOfRangeAreNamedWithKeyAndRange) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kGood;
    return text.replace(text.find(from), from.size(), to);
  };
  const auto huge = [&](const std::string& from, const std::string& to, const std::string& said) {
    EXPECT_THAT(problemRefusal(with(from, to)),
                testing::AllOf(HasSubstr(said), HasSubstr("2^63 - 1"), testing::Not(HasSubstr("not a JSON object"))));
  };
  huge("\"ci\": 4", "\"ci\": 1e999", "'ci' = 1e999 is out of range");
  huge("\"ci\": 4", "\"ci\": -1e400", "'ci' = -1e400 is out of range");
  huge("[1, 3, 3]", "[1, 3, 1e999]", "'kernel' = 1e999 is out of range");
  huge("\"ci\": 4", "\"more\": {\"deep\": [1]}, \"ci\": 1e999", "'ci' = 1e999 is out of range");
  huge("\"ci\": 4", "\"ci\": 99999999999999999999", "'ci' = 1e+20 must be a whole number from -2^63");
  huge("\"ci\": 4", "\"ci\": 9223372036854775808", "'ci' = 9223372036854775808 must be a whole number from -2^63");
  EXPECT_THAT(problemRefusal("1e999"), HasSubstr("the problem: 1e999 is out of range"));
  EXPECT_THAT(problemRefusal(with("\"ci\": 4", "\"ci\": 1e999,")), HasSubstr("1e999"));
  EXPECT_THAT(problemRefusal(with("\"rank\": 2", "\"rank\": 4294967297")),
              HasSubstr("'rank' = 4294967297 must be 1, 2 or 3"));
  const auto rank = problemFromJson(with("\"rank\": 2", "\"rank\": 1000"));
  ASSERT_TRUE(rank.ok());
  EXPECT_THAT(checkProblem(*rank).error().message, HasSubstr("rank = 1000")) << "the number that was written";
}

TEST_F(JsonFile, FilesAndNames) {
  const std::string second = std::string(kGood).replace(std::string(kGood).find("\"a\""), 3, "\"b:c\"");
  write(std::string(kGood) + "\n\n" + second + "\n");
  EXPECT_EQ(readSuite(path_)->size(), 2U);
  EXPECT_FALSE(readProblem(path_).ok()) << "two problems and no name";
  EXPECT_EQ(readProblem(path_ + ":a")->name, "a");
  EXPECT_THAT(readProblem(path_ + ":x").error().message, HasSubstr("no problem named 'x'"));
  write(kGood);
  EXPECT_EQ(readProblem(path_)->name, "a");
  write(std::string(kGood) + "\n{\"n\": 1}\n");
  EXPECT_THAT(readSuite(path_).error().message, HasSubstr(path_ + ":2:"));
  write("\n");
  EXPECT_EQ(readSuite(path_).error().code, ErrorCode::kInvalidProblem);
  EXPECT_EQ(readSuite("/nonexistent/suite").error().code, ErrorCode::kIo);
}

TEST(JsonPlan, ReadsBackEveryFieldOfEveryAlgorithm) {
  std::vector<TilingPlan> plans{TilingPlan(Pass::kDw, CubePlan{})};
  for (const Algorithm* algorithm : algorithms()) plans.push_back(algorithm->plan());
  for (TilingPlan& plan : plans) {
    std::int64_t next = 2;
    describePlan(plan, [&](const char*, auto& field) {
      using Field = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, std::int64_t>)
        field = next++;
      else if constexpr (std::is_same_v<Field, bool>)
        field = !field;
      else
        field = static_cast<Field>(1);
    });
    const auto back = planFromJson(planToJson(plan));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(planToJson(*back), planToJson(plan));
    EXPECT_EQ(back->algorithm.index(), plan.algorithm.index());
    EXPECT_EQ(back->pass, plan.pass);
  }
}

TEST(JsonPlan, FieldsThatAreMissingAreUsual) {
  const auto plan = planFromJson(R"({"version":2,"pass":"dx","algorithm":"direct","backend":"llvm"})");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->backend, PlanBackend::kLlvm);
  TilingPlan usual = defaultPlan("direct", Pass::kDx);
  usual.backend = PlanBackend::kLlvm;
  EXPECT_EQ(planToJson(*plan), planToJson(usual));
}

TEST(JsonPlan, ThePassIsReadByItsOldName) {
  const char* const of020 =
      R"({"version":2,"gradient":"dw","algorithm":"direct","backend":"session","reorder_dy":false,"reorder_x":false,)"
      R"("reorder_result":false,"vectorize":"kernel_width","order":"pixels_outer","row_parts":1,"vector_parts":1,)"
      R"("reduction_parts":1,"register_rows":4,"register_taps":1,"register_vectors":1,"unroll":16,"pack_a":false,)"
      R"("pack_b":"none","buffer_c":true,"reduction_n":1,"reduction_d":1,"reduction_h":4,"prefetch_results":true,)"
      R"("dot_products":false})";
  const auto plan = planFromJson(of020);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->pass, Pass::kDw);
  std::string now = of020;
  const auto same = planFromJson(now.replace(now.find("gradient"), 8, "pass"));
  ASSERT_TRUE(same.ok()) << same.error().message;
  EXPECT_EQ(planToJson(*plan), planToJson(*same));
  const auto both = planFromJson(R"({"version":2,"pass":"dx","gradient":"dw","algorithm":"direct"})");
  ASSERT_FALSE(both.ok());
  EXPECT_THAT(both.error().message, HasSubstr("'gradient' is not a key this object has"));
  std::string noted = kGood;
  noted.replace(noted.find("\"gflop\""), 7, R"("gradients": "dw", "gflop")");
  EXPECT_TRUE(problemFromJson(noted).ok()) << "a note of a suite";
  EXPECT_TRUE(problemFromJson(noted.replace(noted.find("gradients"), 9, "passes")).ok());
}

TEST(JsonPlan, WhatIsWrongIsNamed) {
  const auto refused = [](const char* text) {
    const auto plan = planFromJson(text);
    return plan.ok() ? std::string() : plan.error().message;
  };
  EXPECT_THAT(refused("7"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refused(R"({"unit":"vector","pass":"dx","lanes":"channels"})"), HasSubstr("of version 1"));
  EXPECT_THAT(refused(R"({"version":3,"pass":"dx","algorithm":"direct"})"), HasSubstr("reads version 2"));
  EXPECT_THAT(refused(R"({"version":2,"pass":"dz","algorithm":"direct"})"),
              HasSubstr("'pass': unknown pass 'dz'; the nearest is dx"));
  EXPECT_THAT(refused(R"({"version":2,"pass":"dx","algorithm":"fft"})"),
              testing::AllOf(HasSubstr("'algorithm' = 'fft' is not part of this build"), HasSubstr("direct")));
  EXPECT_THAT(refused(R"({"version":2,"pass":"dx","algorithm":"direct","backend":"xbyak"})"),
              HasSubstr("unknown backend 'xbyak'; there are "));
  EXPECT_THAT(refused(R"({"version":2,"pass":"dx","algorithm":"direct","register_rows":3})"),
              testing::AllOf(HasSubstr("register_rows"), HasSubstr("of a plan of the direct algorithm of dx")))
      << "a field of another algorithm";
}

// A value of another kind is told as what it is, not as what stands where it was not read.
TEST(JsonPlan, ValuesOfAnotherKindAreShown) {
  const auto refused = [](const char* text) {
    const auto plan = planFromJson(text);
    return plan.ok() ? std::string() : plan.error().message;
  };
  EXPECT_THAT(refused(R"({"version":"2","pass":"dx","algorithm":"direct"})"),
              testing::AllOf(HasSubstr(R"('version' = "2" must be a whole number)"), HasSubstr("reads version 2"),
                             testing::Not(HasSubstr("version 0"))));
  EXPECT_THAT(refused(R"({"version":2.5,"pass":"dx","algorithm":"direct"})"), HasSubstr("'version' = 2.5 must be"));
  EXPECT_THAT(refused(R"({"version":null,"pass":"dx","algorithm":"direct"})"), HasSubstr("'version' = null must be"));
  EXPECT_THAT(refused(R"({"version":2,"pass":5,"algorithm":"direct"})"), HasSubstr("'pass' = 5 must be a string"));
  EXPECT_THAT(refused(R"({"version":2,"pass":"dx","algorithm":["direct"]})"),
              HasSubstr(R"('algorithm' = ["direct"] must be a string)"));
  EXPECT_THAT(refused(R"({"version":2,"algorithm":"direct"})"), HasSubstr("'pass' is missing"));
  EXPECT_THAT(refused(R"({"version":2,"pass":"forward","algorithm":"direct"})"), HasSubstr("the nearest is y"));
  EXPECT_THAT(refused(R"({"version":2,"pass":"dx","algorithm":"direct","backend":7})"),
              HasSubstr("'backend' = 7 must be a string"));
}

}  // namespace
}  // namespace cubejit
