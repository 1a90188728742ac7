// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: do records, pins and questions survive being written and read, and is what is not one refused?
#include "runtime/tuning/json_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/text/problem_text.h"
#include "runtime/tuning/json_lab.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/plan_fields.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

TEST(JsonRecord, RoundTrips) {
  TuneRecord record = winnerFor(keyFor(smallConvolution()), 0.875);
  record.message = "line\nbreak \"quote\" é";
  const auto again = recordFromJson(recordToJson(record));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(recordToJson(again.value()), recordToJson(record));
}

TEST(JsonRecord, IdentitiesOfProblemsHoldEveryField) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 200; ++i) {
    const Problem p = randomProblem(random);
    const auto again = problemFromIdentity(problemIdentity(p));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_TRUE(again.value() == p) << problemIdentity(p);
  }
}

TEST(JsonRecord, FormatsOfTensorsArePartOfIt) {
  Problem p = smallConvolution();
  const std::string plain = problemIdentity(p);
  TensorFormat format;
  format.dtype = DType::kBf16;
  format.layout = Layout::kNcdhw;
  format.strides = {5, 4, 3, 2, 1};
  p.formats[static_cast<std::size_t>(TensorId::kW)] = format;
  EXPECT_NE(problemIdentity(p), plain);
  const auto again = problemFromIdentity(problemIdentity(p));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again.value() == p);
}

TEST(JsonRecord, RecordsAndPinsOfVersion020AreRead) {
  const std::string problem =
      R"("problem":{"rank":1,"batch":1,"groups":1,"cin":3,"cout":4,"in":[1,1,5],"kernel":[1,1,2],"out":[1,1,4],)"
      R"("stride":[1,1,1],"dilation":[1,1,1],"pad_before":[0,0,0],"pad_after":[0,0,0],"transposed":false,)"
      R"("dtype":"f32","layout":"ndhwc"},)";
  const std::string plan =
      R"("plan":{"version":2,"gradient":"dw","algorithm":"direct","backend":"session","vectorize":"kernel_width"})";
  const auto record = recordFromJson(
      R"({"schema":"cubejit.record/1","name":"1,3,5 * 4,3,2",)" + problem +
      R"("gradient":"dw","machine":"m","backend":"xbyak","threads":2,"version":"0.2.0","code":"9e5c7b71477134c2",)" +
      plan +
      R"(,"cost":{"total":1,"compute":1,"memory":1,"move":0,"call":0},"status":"measured","won":true,)"
      R"("verified":true,"untuned":false,"relative":0.5,"samples_ns":[7],"message":"","run":"r","time":1795857162})");
  ASSERT_TRUE(record.ok()) << record.error().message;
  EXPECT_EQ(record->key.pass, Pass::kDw);
  EXPECT_EQ(record->plan.pass, Pass::kDw);
  EXPECT_THAT(recordToJson(*record), testing::Not(HasSubstr("gradient")));
  const auto pin = pinFromJson(R"({"schema":"cubejit.pin/1","name":"","isa":"avx2",)" + problem + plan + "}");
  ASSERT_TRUE(pin.ok()) << pin.error().message;
  EXPECT_EQ(pin->plan.pass, Pass::kDw);
}

TEST(JsonRecord, EveryBrokenMemberIsNamed) {
  const std::string good = recordToJson(winnerFor(keyFor(smallConvolution()), 0.9));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto read = recordFromJson(text);
    return read.ok() ? std::string("accepted") : read.error().message;
  };
  EXPECT_THAT(with("cubejit.record/1", "cubejit.record/2"), HasSubstr("schema"));
  EXPECT_THAT(with("\"threads\":2", "\"threads\":0"), HasSubstr("threads = 0"));
  EXPECT_THAT(with("\"status\":\"measured\"", "\"status\":\"excellent\""), HasSubstr("excellent"));
  EXPECT_THAT(with("\"samples_ns\":[1000", "\"samples_ns\":[-1"), HasSubstr("nanoseconds"));
  EXPECT_THAT(with("\"relative\":", "\"relative\":\"x\",\"y\":"), HasSubstr("'y' is not a key"));
  EXPECT_THAT(with("\"rank\":2", "\"rank\":\"2\""), HasSubstr("'rank'"));
  EXPECT_THAT(with("\"pass\":\"dx\"", "\"pass\":\"dw\""), HasSubstr("not that of the plan"));
  EXPECT_THAT(with("\"won\":", "\"won\":true,\"won\":"), HasSubstr("the record has the key 'won' twice"));
  EXPECT_THAT(with("\"rank\":2", "\"rank\":2,\"rank\":3"), HasSubstr("has the key 'rank' twice"));
  EXPECT_FALSE(recordFromJson("[1]").ok());
  EXPECT_FALSE(recordFromJson(std::string(2000, '[')).ok());
  EXPECT_FALSE(recordFromJson("{\"a\":\"" + std::string(2 << 20, 'x') + "\"}").ok());
}

// JSON is copied and printed by functions that call themselves once a level.
TEST(JsonRecord, NestingHasABound) {
  const std::string deep = std::string(250000, '[') + std::string(250000, ']');
  for (const char* key : {"name", "plan", "problem", "cost", "nonsense"})
    EXPECT_FALSE(recordFromJson(std::string("{\"") + key + "\":" + deep + "}").ok()) << key;
  EXPECT_FALSE(
      pinFromJson(R"({"schema":"cubejit.pin/1","name":"a","isa":"avx2","plan":{},"problem":)" + deep + "}").ok());
  EXPECT_FALSE(problemFromIdentity("{\"rank\":" + deep + "}").ok());
  EXPECT_FALSE(samplesFromJson(deep).ok());
  TuneRecord record = winnerFor(keyFor(smallConvolution()), 0.9);
  record.message = R"(\")" + std::string(1000, '[') + R"({"\)";  // text has no levels
  EXPECT_TRUE(recordFromJson(recordToJson(record)).ok());
}

TEST(JsonRecord, RandomDamageNeverCrashes) {
  const std::string good = recordToJson(winnerFor(keyFor(smallConvolution()), 0.9));
  std::mt19937_64 random(9);
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random());
    const auto read = recordFromJson(text);
    if (read.ok()) {
      EXPECT_TRUE(recordFromJson(recordToJson(read.value())).ok());
    }
  }
}

// What is wrong is printed, by recursion.
TEST(JsonRecord, NestingDoesNotUseUpTheStack) {
  const std::size_t deep = 200000;
  const std::string nested = "{\"rank\":" + std::string(deep, '[') + std::string(deep, ']') + "}";
  EXPECT_FALSE(problemFromIdentity(nested).ok());
  EXPECT_FALSE(recordFromJson(nested).ok());
  EXPECT_FALSE(questionFromJson("{\"ask\":\"open\",\"problem\":" + nested + "}").ok());
  EXPECT_TRUE(problemFromIdentity("{\"rank\":2}").ok());
}

TEST(JsonRecord, EveryDecisionCounts) {
  const TilingPlan usual = defaultPlan("direct", Pass::kDx);
  TilingPlan backend = usual;
  backend.backend = PlanBackend::kLlvm;
  EXPECT_EQ(planIdentity(usual), planIdentity(defaultPlan("direct", Pass::kDx)));
  for (const TilingPlan& plan : {backend, with(usual, "unroll", 9), with(usual, "prefetch", "none")})
    EXPECT_NE(planIdentity(plan), planIdentity(usual));
}

TEST(JsonRecord, Pins) {
  const TuneRecord record = winnerFor(keyFor(smallConvolution()), 0.9);
  const auto pin = pinFromJson(pinToJson({record.key.problem, record.plan, "avx2"}));
  ASSERT_TRUE(pin.ok());
  EXPECT_TRUE(pin.value().problem == record.key.problem);
  EXPECT_EQ(planIdentity(pin.value().plan), planIdentity(record.plan));
  EXPECT_FALSE(pinFromJson("{\"schema\":\"cubejit.pin/1\"}").ok());
}

// Every pass stays itself on its way through texts: questions to workers, records, plans, command lines.
TEST(JsonLab, EveryPassIsWhatItIs) {
  for (const Pass pass : kPasses) {
    LabQuestion open;
    open.task.problem = smallConvolution();
    open.task.pass = pass;
    const auto opened = questionFromJson(questionToJson(open));
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(opened->task.pass, pass);
    TuneRecord record = winnerFor(keyFor(smallConvolution(), pass), 0.9);
    EXPECT_EQ(record.plan.pass, pass);
    const auto read = recordFromJson(recordToJson(record));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->key.pass, pass);
    EXPECT_EQ(read->plan.pass, pass);
    EXPECT_EQ(passNamed(toString(pass)), pass);
    const auto mask = parsePasses(toString(pass));
    ASSERT_TRUE(mask.ok());
    EXPECT_TRUE(*mask == maskOf(pass));
  }
}

TEST(JsonLab, QuestionsAndReplies) {
  LabQuestion open;
  open.task.problem = smallConvolution();
  open.task.threads = 3;
  open.turnFile = "/tmp/turn";
  const auto opened = questionFromJson(questionToJson(open));
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(opened.value().task.problem == open.task.problem);
  EXPECT_EQ(opened.value().task.threads, 3);
  LabQuestion sample;
  sample.kind = LabQuestion::Kind::kSample;
  sample.numbers = {4, 9};
  sample.rounds = 5;
  const auto sampled = questionFromJson(questionToJson(sample));
  ASSERT_TRUE(sampled.ok());
  EXPECT_EQ(sampled.value().numbers, sample.numbers);
  EXPECT_EQ(sampled.value().rounds, 5);
  LabReply reply{TrialStatus::kCrashed, "x\ny", "abc", {{1, 2}, {3}}};
  const auto replied = replyFromJson(replyToJson(reply));
  ASSERT_TRUE(replied.ok());
  EXPECT_EQ(replied.value().status, TrialStatus::kCrashed);
  EXPECT_EQ(replied.value().samplesNs, reply.samplesNs);
  for (const char* text : {"", "{}", "[]", "{\"ask\":\"sing\"}", "{\"ask\":\"load\",\"plans\":[1]}"})
    EXPECT_FALSE(questionFromJson(text).ok()) << text;
  EXPECT_FALSE(replyFromJson("{\"status\":1}").ok());
  for (const std::string number : {"1e30", "-1e30", "0.5", "9223372036854775808", "4294967296", "true", "null"}) {
    EXPECT_FALSE(questionFromJson(R"({"ask":"verify","plans":[)" + number + "]}").ok()) << number;
    EXPECT_FALSE(questionFromJson(R"({"ask":"sample","plans":[1],"rounds":)" + number + "}").ok()) << number;
    if (number == "4294967296") continue;
    const std::string reply = R"({"status":"ok","message":"","code":"","results":"","samples_ns":[[)" + number + "]]}";
    EXPECT_FALSE(replyFromJson(reply).ok()) << number;
  }
}

}  // namespace
}  // namespace cubejit
