// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of what is kept: is it made once, bounded, told to all that wait, and never made with a lock held? Sessions' and kernels' tests ask the rest.
#include "runtime/pipeline/generated_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace cubejit {
namespace {

using Numbers = GeneratedCache<int>;

struct CountedNumbers {
  Numbers::Generated find(const std::string& key, std::size_t capacity = 10) {
    return cache.find(
        key, capacity, [&](const CacheLookUp& lookUp) { hits += lookUp.hit ? 1 : 0, evicted += lookUp.evicted; },
        [&]() -> Numbers::Generated { return std::make_shared<const int>(++made); });
  }
  Numbers cache{[](const int& number) { return static_cast<std::size_t>(number); }};
  int made = 0, hits = 0;
  std::int64_t evicted = 0;
};

TEST(GeneratedCache, SaysWhatALookUpWas) {
  CountedNumbers numbers;
  EXPECT_EQ(*numbers.find("a").value(), 1);
  EXPECT_EQ(*numbers.find("b").value(), 2);
  EXPECT_EQ(*numbers.find("a").value(), 1);
  EXPECT_EQ(numbers.hits, 1);
  EXPECT_EQ(numbers.cache.statistics().codeBytes, 3U);
  EXPECT_EQ(*numbers.find("c", 1).value(), 3);
  EXPECT_EQ(numbers.evicted, 2);
  EXPECT_EQ(numbers.cache.statistics().codeBytes, 3U) << "of c alone";
  EXPECT_EQ(*numbers.find("c", 0).value(), 3) << "the last one stays";
}

TEST(GeneratedCache, MayAskForAnotherWhileItGenerates) {
  CountedNumbers numbers;
  const auto outer = numbers.cache.find(
      "outer", 10, [](const CacheLookUp&) {},
      [&]() -> Numbers::Generated {
        CUBEJIT_TRY(inner, numbers.find("inner"));
        return std::make_shared<const int>(*inner + 10);
      });
  EXPECT_EQ(*outer.value(), 11);
  EXPECT_EQ(numbers.cache.statistics().entries, 2U);
}

TEST(GeneratedCache, AFailureIsToldToAllThatWaitAndForgotten) {
  CountedNumbers numbers;
  std::atomic<int> asking{0}, refused{0};
  const auto ask = [&] {
    const auto found = numbers.cache.find(
        "a", 10, [&](const CacheLookUp&) { ++asking; },
        [&]() -> Numbers::Generated {
          while (asking < 4) std::this_thread::yield();
          throw std::bad_alloc();
        });
    refused += !found.ok() && found.error().code == ErrorCode::kLimitExceeded ? 1 : 0;
  };
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t) team.emplace_back(ask);
  for (std::thread& t : team) t.join();
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(numbers.cache.statistics().misses, 1);
  EXPECT_EQ(*numbers.find("a").value(), 1);
}

TEST(GeneratedCache, WhatIsClearedWhileItIsGeneratedIsNotKept) {
  CountedNumbers numbers;
  const auto found = numbers.cache.find(
      "a", 10, [](const CacheLookUp&) {},
      [&]() -> Numbers::Generated {
        numbers.cache.clear();
        return std::make_shared<const int>(7);
      });
  EXPECT_EQ(*found.value(), 7);
  EXPECT_EQ(numbers.cache.statistics().entries, 0U);
  EXPECT_EQ(numbers.cache.statistics().codeBytes, 0U);
}

}  // namespace
}  // namespace cubejit
