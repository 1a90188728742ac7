// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: do records that a store could not take wait beside it, and does whoever opens it next have all of them, each once, whatever ends in
// between?
#include "runtime/tuning/waiting_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "runtime/tuning/record_keeper.h"
#include "runtime/tuning/store.h"
#include "tests/support/held_store.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Waiting : public ::testing::Test {
 protected:
  // What is there once a store was opened to look at it.
  std::vector<TuneRecord> stored(StoreAccess access = StoreAccess::kRead) {
    const auto store = TuningStore::open(path_, access, &notes_);
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    return store.ok() ? store.value()->all().value() : std::vector<TuneRecord>();
  }
  std::vector<TuneRecord> winners(int count, const std::string& run) const {
    std::vector<TuneRecord> records;
    for (int i = 0; i < count; ++i) {
      records.push_back(one_);
      records.back().run = run + "-" + std::to_string(i);
    }
    return records;
  }
  std::string text(const std::vector<TuneRecord>& records) const {
    const std::string file = folder_.file("text.jsonl");
    fs::remove(file);
    EXPECT_TRUE(appendRecords(file, records).ok());
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  int aside() const {
    int found = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(path_).parent_path()))
      found += entry.path().string().find(".waiting.jsonl.corrupt-") != std::string::npos ? 1 : 0;
    return found;
  }
  // In processes of their own; what they return must be 0.
  void inProcesses(int count, const std::function<int(int)>& work) const {
    std::vector<pid_t> children;
    for (int child = 0; child < count; ++child) {
      const pid_t pid = fork();
      if (pid == 0) _exit(work(child));
      children.push_back(pid);
    }
    for (const pid_t pid : children) {
      int status = 0;
      waitpid(pid, &status, 0);
      EXPECT_EQ(status, 0);
    }
  }
  ScratchFolder folder_{"waiting"};
  const std::string path_ = folder_.file("tune.db");
  const TuneRecord one_ = winnerFor(keyFor(smallConvolution()), 0.9);
  StoreNotes notes_;
};

TEST_F(Waiting, ABusyStoreLosesNothing) {
  constexpr int kProcesses = 5, kRecords = 6;
  std::size_t expected = 0;
  for (const char* how : {kHoldsWriters, kHoldsEverybody}) {
    stored(StoreAccess::kReadWrite);
    HeldStore held(path_, how);
    inProcesses(kProcesses, [&](int child) {
      std::string told;
      RecordKeeper keeper(path_, [&](const std::string& note) { told += note + "\n"; }, 0.05);
      for (const TuneRecord& record : winners(kRecords, how + std::to_string(child))) keeper.keep(record);
      if (!keeper.finish("") || keeper.waiting() != kRecords) return 2;
      return told.find(waitingFile(path_)) != std::string::npos && told.find("let go") != std::string::npos ? 0 : 3;
    });
    EXPECT_TRUE(recordsWait(path_));
    held.release();
    expected += static_cast<std::size_t>(kProcesses * kRecords);
    EXPECT_EQ(stored().size(), expected) << how;
    EXPECT_FALSE(recordsWait(path_));
  }
  EXPECT_THAT(notes_, ElementsAre());
  EXPECT_EQ(aside(), 0);
}

TEST_F(Waiting, WhoeverEndsWhileTakingInLosesNothingAndDoublesNothing) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 24;
  std::size_t expected = 0;
  Clock::duration whole{};
  for (int round = 0; round <= kRounds; ++round) {  // the first one is not ended: it tells how long the others take
    ASSERT_TRUE(addWaiting(path_, winners(60, std::to_string(round))).ok());
    expected += 60;
    const Clock::time_point begin = Clock::now();
    const pid_t pid = fork();
    if (pid == 0) {
      static_cast<void>(TuningStore::open(path_, StoreAccess::kReadWrite, nullptr));
      _exit(0);
    }
    if (round > 0) {
      std::this_thread::sleep_until(begin + whole * round / kRounds);
      kill(pid, SIGKILL);
    }
    waitpid(pid, nullptr, 0);
    if (round == 0) whole = Clock::now() - begin;
    EXPECT_EQ(stored(StoreAccess::kReadWrite).size(), expected) << "round " << round;
  }
  EXPECT_FALSE(recordsWait(path_));
  EXPECT_THAT(notes_, ElementsAre());
  EXPECT_TRUE(TuningStore::open(path_, StoreAccess::kRead, nullptr).value()->integrity()->empty());
}

// As one that was ended between the commit and the removal leaves it.
TEST_F(Waiting, TakenInTwiceChangesNothing) {
  ASSERT_TRUE(addWaiting(path_, winners(3, "a")).ok());
  fs::copy_file(waitingFile(path_), folder_.file("copy"));
  EXPECT_EQ(stored(StoreAccess::kReadWrite).size(), 3U);
  fs::copy_file(folder_.file("copy"), waitingFile(path_));
  fs::permissions(waitingFile(path_), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(stored(StoreAccess::kReadWrite).size(), 3U);
  EXPECT_FALSE(recordsWait(path_));
}

TEST_F(Waiting, WhoAddsAndWhoTakesInDoNotMissEachOther) {
  stored(StoreAccess::kReadWrite);
  inProcesses(6, [&](int child) {
    for (int i = 0; i < 20; ++i) {
      if (child % 2 == 0 && !addWaiting(path_, winners(2, std::to_string(child) + "-" + std::to_string(i))).ok())
        return 2;
      if (child % 2 == 1 && !TuningStore::open(path_, StoreAccess::kReadWrite, nullptr).ok()) return 3;
    }
    return 0;
  });
  EXPECT_EQ(stored().size(), 3U * 20 * 2);
}

// A run that withdraws a winner within the second: what waits is older than what it then stores.
TEST_F(Waiting, ACorrectionIsNotUndoneByWhatWaited) {
  stored(StoreAccess::kReadWrite);
  HeldStore held(path_);
  RecordKeeper keeper(path_, [](const std::string&) {}, 0);
  keeper.keep(one_);
  EXPECT_TRUE(recordsWait(path_));
  held.release();
  TuneRecord withdrawn = one_;
  withdrawn.won = false;
  keeper.keep(withdrawn);
  EXPECT_EQ(keeper.waiting(), 0U);
  EXPECT_FALSE(recordsWait(path_));
  const auto all = stored();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all.front().won);
}

TEST_F(Waiting, ADamagedFileIsKeptAndTold) {
  const std::string good = text(winners(2, "a")), cut = text(winners(1, "b"));
  std::ofstream(waitingFile(path_)) << good << cut.substr(0, cut.size() / 2);
  fs::permissions(waitingFile(path_), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(stored(StoreAccess::kReadWrite).size(), 2U);
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_THAT(notes_[0], AllOf(HasSubstr("is damaged"), HasSubstr(":3:"), HasSubstr(".corrupt-")));
  EXPECT_EQ(aside(), 1);
  EXPECT_FALSE(recordsWait(path_));
}

TEST_F(Waiting, ALineCutOffByAKillEndsNoOtherRecord) {
  const std::string cut = text(winners(1, "a"));
  std::ofstream(waitingFile(path_)) << cut.substr(0, cut.size() / 2);
  fs::permissions(waitingFile(path_), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(addWaiting(path_, winners(2, "b")).ok());
  EXPECT_EQ(stored(StoreAccess::kReadWrite).size(), 2U);
}

TEST_F(Waiting, FilesOfOthersAreNotTakenIn) {
  ASSERT_TRUE(addWaiting(path_, winners(1, "a")).ok());
  fs::permissions(waitingFile(path_), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(stored(StoreAccess::kReadWrite).size(), 0U);
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_THAT(notes_[0], AllOf(HasSubstr("waiting.jsonl"), HasSubstr("others may write it")));
  fs::rename(waitingFile(path_), folder_.file("elsewhere"));
  fs::create_symlink(folder_.file("elsewhere"), waitingFile(path_));
  EXPECT_FALSE(addWaiting(path_, winners(1, "b")).ok());
  EXPECT_EQ(stored().size(), 0U);
}

// Nobody would look beside what is no store of this version.
TEST_F(Waiting, BesideAnotherProgramsFileNothingWaits) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, "CREATE TABLE bookmarks(x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  fs::permissions(path_, fs::perms::owner_read | fs::perms::owner_write);
  RecordKeeper keeper(path_, [](const std::string&) {});
  keeper.keep(one_);
  EXPECT_FALSE(recordsWait(path_));
  EXPECT_FALSE(keeper.finish(folder_.file("rest.jsonl")));
  EXPECT_EQ(readRecords(folder_.file("rest.jsonl"))->records.size(), 1U);
}

TEST_F(Waiting, InAReadOnlyFolderTheRunSaysWhatIsNotStoredAndWhy) {
  const fs::path locked = folder_.file("locked");
  fs::create_directories(locked);
  fs::permissions(locked.parent_path(), fs::perms{0755});
  fs::permissions(locked, fs::perms{0555});
  const std::string store = (locked / "tune.db").string();
  inProcesses(1, [&](int) {
    if (geteuid() == 0 && setuid(65534) != 0) return 2;  // root writes everywhere
    std::string told;
    RecordKeeper keeper(store, [&](const std::string& note) { told += note + "\n"; }, 0.05);
    keeper.keep(one_);
    if (keeper.finish("") || keeper.waiting() != 1 || recordsWait(store)) return 3;
    for (const char* word : {"1 records are lost", "tune.db", "waiting.jsonl", "Permission denied"}) {
      if (told.find(word) == std::string::npos) return 4;
    }
    return 0;
  });
}

}  // namespace
}  // namespace cubejit
