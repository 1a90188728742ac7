// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: is a problem generated once however many threads ask, is the cache bounded, are failures forgotten?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"
#include "runtime/pipeline/problem_key.h"
#include "runtime/text/json_problem.h"
#include "runtime/verify/random_problem.h"
#include "tests/support/operands.h"
#include "tests/support/plan_fields.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

constexpr PassMask kDataOnly{true, false, false};

TEST(Session, ManyThreadsOneGeneration) {
  constexpr int kThreads = 16;
  Session session;
  std::atomic<int> ready{0};
  std::vector<const Executable*> found(kThreads, nullptr);
  std::vector<std::thread> team;
  for (int i = 0; i < kThreads; ++i) {
    team.emplace_back([&, i] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      const auto compiled = session.compile(squareProblem(1, 24, 40, 14), kAllGradients);
      if (compiled.ok()) found[static_cast<std::size_t>(i)] = compiled.value().get();
    });
  }
  for (std::thread& t : team) t.join();
  EXPECT_NE(found[0], nullptr);
  EXPECT_EQ(std::set<const Executable*>(found.begin(), found.end()).size(), 1U);
  const CacheStatistics s = session.statistics();
  EXPECT_EQ(s.misses, 1);
  EXPECT_EQ(s.hits, kThreads - 1);
  EXPECT_EQ(s.entries, 1U);
  EXPECT_GT(s.codeBytes, 0U);
}

// Sums of dW are cut for the cores, so its plan tells for how many it was made.
TEST(Session, PlansAreForTheThreadsThatWereAskedFor) {
  Problem problem = squareProblem(8, 16, 16, 64);
  std::set<std::string> plans;
  for (const int threads : {1, 2, 8}) {
    Options options;
    options.threads = threads;
    const Session session(options);
    EXPECT_EQ(session.machine().cores, threads);
    const auto planned = session.plan(problem, Pass::kDw);
    ASSERT_TRUE(planned.ok()) << planned.error().message;
    const Result<PlanChoice> wanted = choosePlan(problem, Pass::kDw, session.machine(), false);
    ASSERT_TRUE(wanted.ok());
    EXPECT_EQ(planToJson(planned->plan), planToJson(wanted->plan));
    plans.insert(planToJson(planned->plan));
  }
  EXPECT_EQ(plans.size(), 3U);
  EXPECT_EQ(Session().machine().cores, detectHost(Session().machine().isa.level).cores)
      << "what was not asked for does not follow the affinity";
  Options chip;
  chip.threads = 2;
  chip.machine = machineByName("ascend910b2").value();
  EXPECT_EQ(Session(chip).machine().cores, chip.machine->cores);
}

TEST(Session, EveryFieldTellsProblemsApart) {
  const Problem base = squareProblem(2, 4, 6, 8);
  std::set<std::string> keys{problemKey(base, kDataOnly)};
  std::size_t fields = 0;
  describeProblem(base, [&](const char* name, const auto&) {
    Problem changed = base;
    describeProblem(changed, [&](const char* other, auto& field) {
      if (std::string(other) != name) return;
      using Field = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<Field, Dhw>)
        field.h += 1;
      else if constexpr (std::is_same_v<Field, decltype(Problem::formats)>)
        field[1] = TensorFormat{DType::kF16, Layout::kNdhwc, {}};
      else if constexpr (std::is_same_v<Field, PostOps>)
        field.bias = true;
      else if constexpr (std::is_same_v<Field, bool>)
        field = !field;
      else if constexpr (std::is_enum_v<Field>)
        field = static_cast<Field>(static_cast<int>(field) ^ 1);
      else
        field += 1;
    });
    ++fields;
    EXPECT_TRUE(keys.insert(problemKey(changed, kDataOnly)).second) << name << " is missing from the key";
  });
  EXPECT_GE(fields, 15U);
  EXPECT_TRUE(keys.insert(problemKey(base, kAllGradients)).second);
  for (const TensorId t : kTensorIds) {  // each part of each tensor's format counts
    const auto with = [&](auto change) {
      Problem changed = base;
      TensorFormat format = formatOf(base, t);
      change(format);
      changed.formats[static_cast<std::size_t>(t)] = format;
      return problemKey(changed, kDataOnly);
    };
    EXPECT_EQ(with([](TensorFormat&) {}), problemKey(base, kDataOnly)) << "the same format, spelled out";
    EXPECT_TRUE(keys.insert(with([](TensorFormat& f) { f.dtype = DType::kBf16; })).second);
    EXPECT_TRUE(keys.insert(with([](TensorFormat& f) { f.layout = Layout::kNdc1hwc0; })).second);
    EXPECT_TRUE(keys.insert(with([](TensorFormat& f) { f.strides[2] = 7; })).second);
    EXPECT_TRUE(keys.insert(with([](TensorFormat& f) { f.c0 = 16; })).second);
  }
  Problem named = base;
  named.name = "other";
  EXPECT_EQ(problemKey(named, kDataOnly), problemKey(base, kDataOnly));
}

TEST(Session, TheLeastRecentlyUsedGoesFirst) {
  Options options;
  options.cacheCapacity = 2;
  Session session(options);
  const auto compile = [&](std::int64_t size) { return session.compile(squareProblem(1, 3, 5, size), kDataOnly).ok(); };
  EXPECT_TRUE(compile(5) && compile(6));
  EXPECT_TRUE(compile(5));  // 6 is now the oldest
  EXPECT_TRUE(compile(7));
  CacheStatistics s = session.statistics();
  EXPECT_EQ(s.evictions, 1);
  EXPECT_EQ(s.entries, 2U);
  EXPECT_EQ(s.hits, 1);
  EXPECT_TRUE(compile(5));
  EXPECT_EQ(session.statistics().hits, 2) << "5 was used more recently than 6";
  EXPECT_TRUE(compile(6));
  EXPECT_EQ(session.statistics().misses, 4);
  session.clear();
  s = session.statistics();
  EXPECT_EQ(s.entries, 0U);
  EXPECT_EQ(s.codeBytes, 0U);
}

TEST(Session, CodeBytesFollowWhatIsKept) {
  Options options;
  options.cacheCapacity = 1;
  Session session(options);
  ASSERT_TRUE(session.compile(squareProblem(1, 16, 16, 8), kAllGradients).ok());
  const std::size_t first = session.statistics().codeBytes;
  ASSERT_TRUE(session.compile(squareProblem(1, 3, 5, 5), kDataOnly).ok());
  ASSERT_TRUE(session.compile(squareProblem(1, 16, 16, 8), kAllGradients).ok());
  EXPECT_EQ(session.statistics().codeBytes, first);
}

// What a session drops goes back: sanitizers keep it to see who still uses it.
#ifndef CUBEJIT_SANITIZED
TEST(Session, MemoryIsFlatOverManyProblems) {
  const auto residentBytes = [] {
    std::ifstream statm("/proc/self/statm");
    std::int64_t all = 0, resident = 0;
    statm >> all >> resident;
    return resident * sysconf(_SC_PAGESIZE);
  };
  std::mt19937_64 random(3);
  Options options;
  options.threads = 2;
  options.cacheCapacity = 32;
  Session session(options);
  const auto compile = [&](int problems) {
    for (int i = 0; i < problems; ++i) {
      Problem p = randomProblem(random);
      randomFormats(random, p, true, true);
      ASSERT_TRUE(session.compile(p, {true, true, true, true}).ok());
    }
  };
  compile(200);
  const std::int64_t before = residentBytes();
  compile(600);
  EXPECT_LE(residentBytes() - before, std::int64_t{8} << 20) << "each problem leaves its memory behind";
}
#endif

TEST(Session, AnExecutableOutlivesCacheAndSession) {
  std::shared_ptr<const Executable> executable;
  {
    Session session;
    executable = session.compile(squareProblem(1, 5, 7, 6), kAllGradients).value();
    session.clear();
  }
  Operands operands(executable->problem());
  EXPECT_TRUE(operands.run(*executable, 2).ok());
}

TEST(Session, AFailureIsNotRemembered) {
  Session session;
  Problem wrong = squareProblem(1, 4, 4, 6);
  wrong.out.h = 99;
  std::vector<std::thread> team;
  std::atomic<int> failures{0};
  for (int i = 0; i < 8; ++i) {
    team.emplace_back([&] {
      const auto compiled = session.compile(wrong, kAllGradients);
      if (!compiled.ok() && compiled.error().code == ErrorCode::kInvalidProblem) ++failures;
    });
  }
  for (std::thread& t : team) t.join();
  EXPECT_EQ(failures, 8);
  EXPECT_EQ(session.statistics().entries, 0U);
  const std::int64_t misses = session.statistics().misses;
  EXPECT_FALSE(session.compile(wrong, kAllGradients).ok());
  EXPECT_EQ(session.statistics().misses, misses + 1) << "asked again, it is tried again";
  EXPECT_TRUE(session.compile(squareProblem(1, 4, 4, 6), kAllGradients).ok());
}

TEST(Session, NoGradientIsAnError) {
  Session session;
  const auto compiled = session.compile(squareProblem(1, 4, 4, 6), PassMask{});
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, ErrorCode::kInvalidProblem);
}

// A struct has no parser that would refuse them.
TEST(Session, NumbersOfOptionsHaveRanges) {
  const auto refusal = [](const auto& change) {
    Options options;
    change(options);
    Session session(options);
    const Status status = session.status();
    EXPECT_EQ(session.compile(squareProblem(1, 4, 4, 6), kAllGradients).ok(), status.ok());
    return status.ok() ? std::string() : status.error().message;
  };
  using testing::HasSubstr;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal([](Options&) {}), "");
  EXPECT_THAT(refusal([](Options& o) { o.threads = -5; }), HasSubstr("Options::threads = -5 must be at least 0"));
  EXPECT_THAT(refusal([](Options& o) { o.memLimit = -1; }), HasSubstr("Options::memLimit = -1 must be at least 0"));
  EXPECT_THAT(refusal([](Options& o) { o.codeBudget = 0; }), HasSubstr("Options::codeBudget = 0 must be at least 1"));
  EXPECT_THAT(refusal([&](Options& o) { o.wakeCycles = kNan; }), HasSubstr("Options::wakeCycles = nan"));
  EXPECT_THAT(refusal([](Options& o) { o.tuneSeconds = -1; }), HasSubstr("Options::tuneSeconds = -1"));
  EXPECT_THAT(refusal([](Options& o) { o.threads = -1, o.memLimit = -1; }),
              testing::AllOf(HasSubstr("threads = -1"), HasSubstr("\nOptions::memLimit = -1")));
}

TEST(Session, APlanOfTheCallersIsCheckedAndUsed) {
  Session session;
  const Problem p = squareProblem(2, 16, 16, 12);
  const Result<PlanReport> report = session.plan(p, Pass::kDx, true);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GT(report.value().candidates.size(), 1U);
  const PlanCandidate* other = nullptr;
  TilingPlan broken = report.value().plan;
  ASSERT_TRUE(setField(broken, "register_vectors", 1000));
  for (const PlanCandidate& c : report.value().candidates) {
    if (c.refusedBy.empty() && c.predictedCycles > report.value().predictedCycles) other = &c;
  }
  ASSERT_NE(other, nullptr);
  const auto compiled = session.compile(CompileRequest{p, kDataOnly, {other->plan}});
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_EQ(fieldOf(compiled.value()->plan(Pass::kDx), "register_w"), fieldOf(other->plan, "register_w"));
  const auto refused = session.compile(CompileRequest{p, kDataOnly, {broken}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kNoFeasiblePlan);
  EXPECT_EQ(session.statistics().entries, 0U) << "requests with plans are not cached";
}

TEST(Session, ManyThreadsManyProblems) {
  Options options;
  options.cacheCapacity = 3;
  Session session(options);
  std::atomic<int> wrong{0};
  std::vector<std::thread> team;
  for (int i = 0; i < 6; ++i) {
    team.emplace_back([&, i] {
      for (int round = 0; round < 12; ++round) {
        const auto compiled = session.compile(squareProblem(1, 3, 4, 5 + (round + i) % 5), kAllGradients);
        if (!compiled.ok()) {
          ++wrong;
          continue;
        }
        Operands operands(compiled.value()->problem());
        if (!operands.run(*compiled.value(), 2).ok()) ++wrong;
      }
    });
  }
  for (std::thread& t : team) t.join();
  EXPECT_EQ(wrong, 0);
  const CacheStatistics s = session.statistics();
  EXPECT_EQ(s.hits + s.misses, 6 * 12);
  EXPECT_LE(s.entries, 3U);
}

}  // namespace
}  // namespace cubejit
