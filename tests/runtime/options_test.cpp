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
                             "CUBEJIT_LLVM_COMPONENT"})
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
