// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: do records reach the store, wait when they cannot, and end in a text file that can be read again?
#include "runtime/tuning/record_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/tuning/json_record.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

class Keeper : public ::testing::Test {
 protected:
  ScratchFolder folder_{"keeper"};
  const TuneKey key_ = keyFor(smallConvolution());
  std::vector<std::string> told_;
  std::function<void(const std::string&)> tell_ = [this](const std::string& text) { told_.push_back(text); };
};

TEST_F(Keeper, StoresAtOnce) {
  RecordKeeper keeper(folder_.file("a.db"), tell_);
  keeper.keep(winnerFor(key_, 0.9));
  EXPECT_EQ(keeper.waiting(), 0U);
  EXPECT_EQ(TuningStore::open(folder_.file("a.db"), StoreAccess::kRead, nullptr).value()->all().value().size(), 1U);
  EXPECT_TRUE(keeper.finish(folder_.file("rest.jsonl")));
  EXPECT_TRUE(told_.empty());
}

TEST_F(Keeper, WaitsForAStoreThatCannotBeWritten) {
  std::filesystem::create_directories(folder_.file("a.db"));  // a folder stands where the file should be
  RecordKeeper keeper(folder_.file("a.db"), tell_);
  keeper.keep(winnerFor(key_, 0.9, "a"));
  keeper.keep(winnerFor(key_, 0.8, "b"));
  EXPECT_EQ(keeper.waiting(), 2U);
  EXPECT_EQ(told_.size(), 1U) << "once is enough";
  EXPECT_EQ(keeper.of(key_, version()).size(), 2U);
  std::filesystem::remove(folder_.file("a.db"));
  keeper.keep(winnerFor(key_, 0.7, "c"));
  EXPECT_EQ(keeper.waiting(), 0U);
  EXPECT_EQ(keeper.all().size(), 3U);
}

TEST_F(Keeper, WhatCannotBeStoredEndsInATextFile) {
  std::filesystem::create_directories(folder_.file("a.db"));
  RecordKeeper keeper(folder_.file("a.db"), tell_);
  keeper.keep(winnerFor(key_, 0.9, "a"));
  EXPECT_FALSE(keeper.finish(folder_.file("rest.jsonl")));
  EXPECT_THAT(told_.back(), HasSubstr("cubejit db import"));
  const auto lines = readRecords(folder_.file("rest.jsonl"));
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines.value().records.size(), 1U);
  EXPECT_TRUE(lines.value().refused.empty());
}

TEST_F(Keeper, ALineCutOffByAKillIsRefusedAlone) {
  const std::string path = folder_.file("records.jsonl");
  ASSERT_TRUE(appendRecords(path, {winnerFor(key_, 0.9, "a"), winnerFor(key_, 0.8, "b")}).ok());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 20);
  const auto lines = readRecords(path);
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines.value().records.size(), 1U);
  ASSERT_EQ(lines.value().refused.size(), 1U);
  EXPECT_THAT(lines.value().refused[0], HasSubstr(":2:"));
}

}  // namespace
}  // namespace cubejit
