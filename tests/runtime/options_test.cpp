// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does the environment say what it may, and are wrong values refused by name?
#include "cubejit/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cubejit/cubejit.hpp"

namespace cubejit {
namespace {

class Environment : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {"CUBEJIT_MAX_ISA", "CUBEJIT_BACKEND", "CUBEJIT_NUM_THREADS", "CUBEJIT_CACHE_CAPACITY",
                             "CUBEJIT_TUNE", "CUBEJIT_TUNE_SECONDS", "CUBEJIT_DB", "CUBEJIT_SYSTEM_DB", "CUBEJIT_PIN",
                             "CUBEJIT_LLVM_COMPONENT", "CUBEJIT_TUNE_FOR"})
      unsetenv(name);
  }
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
  EXPECT_EQ(Options{}.tune, TuneMode::kOff) << "a session that was told nothing looks at no file";
  setenv("CUBEJIT_TUNE", "missing", 1);
  setenv("CUBEJIT_TUNE_SECONDS", "7", 1);
  setenv("CUBEJIT_DB", "/a.db", 1);
  setenv("CUBEJIT_SYSTEM_DB", "/b.db", 1);
  setenv("CUBEJIT_PIN", "pins", 1);
  options = optionsFromEnvironment().value();
  EXPECT_EQ(options.tune, TuneMode::kMissing);
  EXPECT_EQ(options.tuneSeconds, 7);
  EXPECT_EQ(options.store, "/a.db");
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

TEST_F(Environment, WrongValuesAreNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {"CUBEJIT_MAX_ISA", "sse"},      {"CUBEJIT_BACKEND", "gcc"},    {"CUBEJIT_NUM_THREADS", "0"},
      {"CUBEJIT_NUM_THREADS", "two"},  {"CUBEJIT_NUM_THREADS", "2x"}, {"CUBEJIT_NUM_THREADS", "99999999999999999999"},
      {"CUBEJIT_CACHE_CAPACITY", "-1"}};
  for (const auto& [name, value] : wrong) {
    clear();
    setenv(name, value, 1);
    const Result<Options> options = optionsFromEnvironment();
    ASSERT_FALSE(options.ok()) << name << "=" << value;
    EXPECT_NE(options.error().message.find(value), std::string::npos) << options.error().message;
  }
}

}  // namespace
}  // namespace cubejit
