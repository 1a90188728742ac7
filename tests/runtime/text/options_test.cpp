// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does the environment say what it may, and are wrong values refused by name?
#include "cubejit/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/face/environment.h"

namespace cubejit {
namespace {

class Environment : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const EnvironmentVariable& variable : environmentVariables()) {
      if (const char* value = std::getenv(variable.name); value != nullptr) outside_[variable.name] = value;
    }
    clear();
  }
  // The tests behind run as they were told from outside.
  void TearDown() override {
    clear();
    for (const auto& [name, value] : outside_) setenv(name.c_str(), value.c_str(), 1);
  }
  static void clear() {
    for (const EnvironmentVariable& variable : environmentVariables()) unsetenv(variable.name);
  }
  std::map<std::string, std::string> outside_;
};

TEST_F(Environment, SilentEnvironmentGivesDefaults) {
  const Result<Options> options = optionsFromEnvironment();
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options.value().isa.has_value());
  EXPECT_EQ(options.value().threads, 0);
  EXPECT_EQ(options.value().backend, kUsualBackend);
  EXPECT_TRUE(options.value().llvmComponent.empty());
}

TEST_F(Environment, TuningIsUsedUnlessSaidOtherwise) {
  setenv("XDG_DATA_HOME", "/data/of/user", 1);
  Options options = optionsFromEnvironment().value();
  EXPECT_EQ(options.tune, TuneMode::kUse);
  EXPECT_EQ(options.store, "/data/of/user/cubejit/tune-v1.db");
  EXPECT_EQ(Options{}.tune, TuneMode::kOff) << "a session looks at no file that its options do not name";
  setenv("CUBEJIT_TUNE", "missing", 1);
  setenv("CUBEJIT_TUNE_SECONDS", "7", 1);
  setenv("CUBEJIT_DB", "/a.db", 1);
  EXPECT_EQ(options.storeWaitSeconds, 10);
  setenv("CUBEJIT_DB_WAIT", "0", 1);
  setenv("CUBEJIT_SYSTEM_DB", "/b.db", 1);
  setenv("CUBEJIT_PIN", "pins", 1);
  options = optionsFromEnvironment().value();
  EXPECT_EQ(options.tune, TuneMode::kMissing);
  EXPECT_EQ(options.tuneSeconds, 7);
  EXPECT_EQ(options.store, "/a.db");
  EXPECT_EQ(options.storeWaitSeconds, 0);
  EXPECT_EQ(options.systemStore, "/b.db");
  EXPECT_EQ(options.pins, "pins");
  setenv("CUBEJIT_TUNE", "sometimes", 1);
  const Result<Options> wrong = optionsFromEnvironment();
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("off, use, missing, always"), std::string::npos);
  unsetenv("CUBEJIT_TUNE");
  EXPECT_EQ(options.tuneFor, TuneGoal::kCycles);
  setenv("CUBEJIT_TUNE_FOR", "host-time", 1);
  EXPECT_EQ(optionsFromEnvironment().value().tuneFor, TuneGoal::kHostTime);
  setenv("CUBEJIT_TUNE_FOR", "fun", 1);
  const Result<Options> goal = optionsFromEnvironment();
  ASSERT_FALSE(goal.ok());
  EXPECT_NE(goal.error().message.find("'fun'; there are cycles, host-time"), std::string::npos);
  unsetenv("XDG_DATA_HOME");
}

TEST_F(Environment, AllValues) {
  setenv("CUBEJIT_MAX_ISA", "avx2", 1);
  setenv("CUBEJIT_BACKEND", "tile_interpreter", 1);
  setenv("CUBEJIT_NUM_THREADS", "3", 1);
  setenv("CUBEJIT_CACHE_CAPACITY", "17", 1);
  setenv("CUBEJIT_LLVM_COMPONENT", "/some/file.so", 1);
  const Result<Options> options = optionsFromEnvironment();
  ASSERT_TRUE(options.ok());
  const bool more = !runnableIsas().empty() && runnableIsas().front() > IsaLevel::kAvx2;
  EXPECT_EQ(options.value().isa, more ? std::optional<IsaLevel>(IsaLevel::kAvx2) : std::nullopt);
  EXPECT_EQ(options.value().backend, BackendKind::kTileInterpreter);
  EXPECT_EQ(options.value().threads, 3);
  EXPECT_EQ(options.value().cacheCapacity, 17U);
  EXPECT_EQ(options.value().llvmComponent, "/some/file.so");
}

TEST_F(Environment, TheIsaIsALimitNotADemand) {
  setenv("CUBEJIT_MAX_ISA", toString(IsaLevel::kAvx512Bf16), 1);
  const Result<Options> options = optionsFromEnvironment();
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options.value().isa.has_value());
}

// Every variable of the table, with values it does not have and a part of what is said of them. None: any text is a value.
TEST_F(Environment, WrongValuesAreNamedBesideTheRightOnes) {
  struct Wrong {
    std::vector<std::string> values;
    std::string said;
  };
  const std::string whole = "must be a whole number from 1 to 1073741824";
  const std::map<std::string, Wrong> wrong{
      {"CUBEJIT_MAX_ISA", {{"sse"}, "avx2, avx512, avx512_bf16"}},
      {"CUBEJIT_BACKEND", {{"gcc", "xbyak,llvm", "XBYAK"}, "xbyak, llvm, interpreter, tile_interpreter"}},
      {"CUBEJIT_NUM_THREADS",
       {{"0", "two", "2x", "1025", "99999999999999999999"}, "must be a whole number of threads from 1 to 1024"}},
      {"CUBEJIT_CACHE_CAPACITY", {{"-1"}, whole}},
      {"CUBEJIT_MEM_LIMIT",
       {{"0", "-1K", "1T", "M", "1 M", "1.5G", "99999999999G"}, "must be a whole number of bytes"}},
      {"CUBEJIT_TUNE", {{"sometimes", "1"}, "off, use, missing, always"}},
      {"CUBEJIT_TUNE_FOR", {{"time"}, "cycles, host-time"}},
      {"CUBEJIT_TUNE_SECONDS", {{"1.5", "0"}, whole}},
      {"CUBEJIT_DB_WAIT", {{"0.5", "-1", "10s"}, "must be a whole number from 0 to 1073741824"}},
      {"CUBEJIT_VERBOSE", {{"loud", "plan,loud"}, "plan, dispatch, cache, profile, all"}},
      {"CUBEJIT_JIT_PROFILE", {{"perf"}, "perfmap, jitdump, gdb, vtune, all"}},
      {"CUBEJIT_DUMP", {{"asm,everything"}, "problem, plan, tile"}},
      {"CUBEJIT_SANITIZE", {{"on", "2"}, "must be 0 or 1"}},
      {"CUBEJIT_SOC", {{"Ascend910B9", "910b5"}, "near it are ascend910b, ascend910b1, "}},
      {"CUBEJIT_LAUNCH_FAST", {{"yes", "2"}, "must be 0 or 1"}},
      {"CUBEJIT_LAUNCH_STRICT", {{"yes"}, "must be 0 or 1"}},
  };
  const std::set<std::string> free{
      "CUBEJIT_LLVM_COMPONENT", "CUBEJIT_DB",      "CUBEJIT_SYSTEM_DB", "CUBEJIT_PIN",         "CUBEJIT_VERBOSE_FILE",
      "CUBEJIT_VERBOSE_FILTER", "CUBEJIT_JIT_DIR", "CUBEJIT_DUMP_DIR",  "CUBEJIT_DUMP_FILTER", "CUBEJIT_LAUNCH_TRACE",
      "CUBEJIT_LAUNCH_TIMELINE"};
  for (const EnvironmentVariable& variable : environmentVariables()) {
    if (free.count(variable.name) > 0) {
      setenv(variable.name, "any text", 1);
      EXPECT_TRUE(readEnvironment().ok()) << variable.name;
      clear();
      continue;
    }
    ASSERT_EQ(wrong.count(variable.name), 1U) << variable.name << " is not tested";
    const auto& [values, said] = wrong.at(variable.name);
    for (const std::string& value : values) {
      setenv(variable.name, value.c_str(), 1);
      ASSERT_FALSE(optionsFromEnvironment().ok()) << variable.name << "=" << value;
      const std::string message = optionsFromEnvironment().error().message;
      EXPECT_EQ(message.rfind(std::string(variable.name) + ": ", 0), 0U) << message;
      EXPECT_NE(message.find(said), std::string::npos) << message;
      clear();
    }
  }
  setenv("CUBEJIT_BACKEND", "gcc", 1);
  setenv("CUBEJIT_TUNE", "sometimes", 1);
  const std::string both = readEnvironment().error().message;
  EXPECT_NE(both.find("CUBEJIT_BACKEND"), std::string::npos);
  EXPECT_NE(both.find("\nCUBEJIT_TUNE"), std::string::npos);
}

TEST_F(Environment, TheChipOfLaunchesIsAnyNameOfAChip) {
  EXPECT_EQ(readEnvironment()->launch.soc, "");
  for (const auto& [said, chip] : std::map<std::string, std::string>{
           {"Ascend310P3", "ascend310p3"}, {"950", "ascend950pr_9599"}, {"host", ""}, {"toy", "toy"}}) {
    setenv("CUBEJIT_SOC", said.c_str(), 1);
    const auto environment = readEnvironment();
    ASSERT_TRUE(environment.ok()) << environment.error().message;
    EXPECT_EQ(environment->launch.soc, chip) << said;
  }
}

TEST_F(Environment, ASessionThatIsGivenNoOptionsFollowsIt) {
  setenv("CUBEJIT_DB", "/a.db", 1);
  setenv("CUBEJIT_TUNE", "use", 1);
  setenv("CUBEJIT_NUM_THREADS", "3", 1);
  EXPECT_EQ(Session().options().store, "/a.db");
  EXPECT_EQ(Session().options().tune, TuneMode::kUse);
  EXPECT_EQ(Session().options().threads, 3);
  EXPECT_EQ(Session(Options{}).options().tune, TuneMode::kOff);
  EXPECT_EQ(Session(Options{}).options().store, "");
  setenv("CUBEJIT_TUNE", "sometimes", 1);
  Session session;
  const Problem problem;
  for (const Error& error :
       {session.compile(problem, {true, false, false}).error(), session.plan(problem, Pass::kDx).error(),
        session.repack(problem, TensorId::kX, {}).error()})
    EXPECT_NE(error.message.find("CUBEJIT_TUNE"), std::string::npos) << error.message;
}

TEST_F(Environment, EveryVariableIsInTheTableForPeople) {
  std::ostringstream text;
  text << std::ifstream(std::string(CUBEJIT_SOURCE_DIR) + "/docs/howto/use_the_library.md").rdbuf();
  for (const EnvironmentVariable& variable : environmentVariables())
    EXPECT_NE(text.str().find("`" + std::string(variable.name) + "`"), std::string::npos) << variable.name;
}

}  // namespace
}  // namespace cubejit
