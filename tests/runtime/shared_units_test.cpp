// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of shared units: one copy a type, for all threads; a reason where there can be none.
#include "runtime/shared_units.h"

#include <gtest/gtest.h>

#include <thread>

namespace cubejit {
namespace {

TEST(SharedUnits, AreMadeOnceForEachType) {
  SharedUnits units;
  std::string why;
  const UnitCode* f16 = units.codeFor(DType::kF16, why);
  ASSERT_NE(f16, nullptr) << why;
  EXPECT_EQ(why, "");
  EXPECT_EQ(f16->operand, DType::kF16);
  const UnitCode* bf16 = units.codeFor(DType::kBf16, why);
  EXPECT_NE(bf16, f16);
  std::vector<const UnitCode*> seen(4);
  std::vector<std::thread> threads;
  for (auto& slot : seen)
    threads.emplace_back([&units, &slot] {
      std::string reason;
      slot = units.codeFor(DType::kF16, reason);
    });
  for (std::thread& thread : threads) thread.join();
  for (const UnitCode* code : seen) EXPECT_EQ(code, f16);
}

TEST(SharedUnits, SayWhyThereAreNone) {
  Options options;
  options.isa = IsaLevel::kNeon;  // the usual backend writes x86-64 only
  SharedUnits units(options);
  for (int i = 0; i < 2; ++i) {
    std::string why;
    EXPECT_EQ(units.codeFor(DType::kF16, why), nullptr);
    EXPECT_NE(why, "");
  }
}

}  // namespace
}  // namespace cubejit
