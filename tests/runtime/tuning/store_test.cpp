// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does a store give back what it was given, to many processes at once and after any of them died, and does it refuse
// files it must not touch?
#include "runtime/tuning/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "runtime/tuning/json_record.h"
#include "runtime/tuning/store_file.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Store : public ::testing::Test {
 protected:
  std::unique_ptr<TuningStore> open(StoreAccess access = StoreAccess::kReadWrite) {
    auto store = TuningStore::open(path_, access, &notes_);
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    return store.ok() ? std::move(store.value()) : nullptr;
  }
  Error refusal(StoreAccess access = StoreAccess::kReadWrite) {
    const auto store = TuningStore::open(path_, access, &notes_);
    EXPECT_FALSE(store.ok());
    return store.ok() ? Error{} : store.error();
  }
  void run(const std::string& sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  ScratchFolder folder_{"store"};
  const std::string path_ = folder_.file("tune.db");
  const TuneKey key_ = keyFor(smallConvolution());
  StoreNotes notes_;
};

TEST_F(Store, GivesBackWhatItWasGiven) {
  TuneRecord record = winnerFor(key_, 0.8);
  record.message = "it's \"quoted\"; DROP TABLE record";
  record.key.problem.name = "名前 <b>";
  ASSERT_TRUE(open()->add(record).ok());
  const auto all = open(StoreAccess::kRead)->all();
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all.value().size(), 1U);
  TuneRecord expected = record;  // single shapes follow from the rest and are not kept
  EXPECT_EQ(recordToJson(all.value().front()), recordToJson(expected));
}

// Up to version 0.2.0 plans called their pass gradient.
TEST_F(Store, RowsOfEarlierVersionsAreReadAndNotThereTwice) {
  const TuneRecord record = winnerFor(key_, 0.8, "a"), other = winnerFor(key_, 0.9, "b");
  ASSERT_TRUE(open()->addAll({record, other}).ok());
  run("UPDATE record SET plan = replace(plan, '{\"version\":2,\"pass\":', '{\"version\":2,\"gradient\":')");
  const auto before = open(StoreAccess::kRead)->winners(key_, version());
  ASSERT_TRUE(before.ok());
  ASSERT_EQ(before.value().size(), 2U);
  EXPECT_EQ(recordToJson(before.value().front()), recordToJson(record));
  ASSERT_TRUE(open()->add(record).ok());
  std::int64_t unreadable = 0;
  EXPECT_EQ(open()->all(&unreadable).value().size(), 2U) << "the record that was there is the one that was added";
  EXPECT_EQ(unreadable, 0);
}

// A file opened for reading is told to SQLite as a URI, in which these mean something.
TEST_F(Store, AnyPathNamesTheFileItNames) {
  for (const char* const name :
       {"a?mode=memory.db", "a#b.db", "100%25 %41.db", "a b&c='d'.db", "file:a.db", "\xc3\xa4\xff.db"}) {
    const std::string path = folder_.file(name);
    const auto written = TuningStore::open(path, StoreAccess::kReadWrite, &notes_);
    ASSERT_TRUE(written.ok()) << written.error().message;
    ASSERT_TRUE(written.value()->add(winnerFor(key_, 0.8)).ok());
    EXPECT_TRUE(fs::exists(path)) << name;
    const auto read = TuningStore::open(path, StoreAccess::kRead, &notes_);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read.value()->all().value().size(), 1U) << name;
  }
}

TEST_F(Store, WinnersOfTheKeyAreVerifiedAndTheFastestIsFirst) {
  const auto store = open();
  TuneRecord a = winnerFor(key_, 0.9, "a"), b = winnerFor(key_, 0.7, "b"), unverified = winnerFor(key_, 0.5, "c"),
             loser = winnerFor(key_, 0.4, "d"), crashed = winnerFor(key_, 0.3, "e");
  unverified.verified = false;
  loser.won = false;
  crashed.status = TrialStatus::kCrashed;
  TuneRecord otherThreads = winnerFor(key_, 0.2, "f"), otherMachine = otherThreads;
  otherThreads.key.threads = 7;
  otherMachine.key.machine = "elsewhere";
  ASSERT_TRUE(store->addAll({a, b, unverified, loser, crashed, otherThreads, otherMachine}).ok());
  const auto winners = store->winners(key_, version());
  ASSERT_TRUE(winners.ok());
  ASSERT_EQ(winners->size(), 2U);
  EXPECT_EQ(winners->front().run, "b");
  EXPECT_EQ(winners->back().run, "a");
  EXPECT_EQ(store->of(key_, version()).value().size(), 5U);
  EXPECT_EQ(store->elsewhere(key_, version()).value(), 2);
  EXPECT_TRUE(store->winners(key_, "other version")->empty());
}

TEST_F(Store, RunsDoNotReplaceOneAnotherButARunMayCorrectItself) {
  const auto store = open();
  TuneRecord record = winnerFor(key_, 0.9, "a");
  ASSERT_TRUE(store->add(record).ok());
  record.relative = 0.8;
  ASSERT_TRUE(store->add(record).ok());
  TuneRecord older = record;
  older.relative = 0.1;
  older.unixTime -= 100;
  ASSERT_TRUE(store->add(older).ok());
  ASSERT_TRUE(store->add(winnerFor(key_, 0.7, "b")).ok());
  const auto all = store->all();
  ASSERT_EQ(all.value().size(), 2U);
  EXPECT_EQ(all.value()[0].relative, 0.8);
}

TEST_F(Store, AllOrNothing) {
  const auto store = open();
  run("CREATE TRIGGER refuse BEFORE INSERT ON record WHEN NEW.run = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END");
  EXPECT_FALSE(store->addAll({winnerFor(key_, 0.9, "good"), winnerFor(key_, 0.9, "bad")}).ok());
  EXPECT_TRUE(store->all().value().empty());
  EXPECT_TRUE(store->add(winnerFor(key_, 0.9, "good")).ok());
}

TEST_F(Store, ProcessesAtOnceLoseNothing) {
  constexpr int kProcesses = 8, kRecords = 12;
  std::vector<pid_t> children;
  for (int child = 0; child < kProcesses; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      const auto store = TuningStore::open(path_, StoreAccess::kReadWrite, nullptr);
      if (!store.ok()) _exit(2);
      for (int i = 0; i < kRecords; ++i) {
        if (!store.value()->add(winnerFor(key_, 0.9, std::to_string(child) + "-" + std::to_string(i))).ok()) _exit(3);
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(open()->all().value().size(), static_cast<std::size_t>(kProcesses * kRecords));
  EXPECT_TRUE(open()->integrity().value().empty());
}

// A writer reports every committed record through a pipe and is killed at some moment: all of those must be there.
TEST_F(Store, CommittedRecordsSurviveSigkill) {
  for (int round = 0; round < 10; ++round) {
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      const auto store = TuningStore::open(path_, StoreAccess::kReadWrite, nullptr);
      for (int i = 0; store.ok(); ++i) {
        if (!store.value()->add(winnerFor(key_, 0.9, std::to_string(round) + "-" + std::to_string(i))).ok()) _exit(3);
        if (write(pipes[1], "x", 1) != 1) _exit(4);
      }
      _exit(2);
    }
    close(pipes[1]);
    usleep(static_cast<useconds_t>(20000 + 7919 * round % 30000));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    int committed = 0;
    char bytes[256];
    for (ssize_t n = 0; (n = read(pipes[0], bytes, sizeof(bytes))) > 0;) committed += static_cast<int>(n);
    close(pipes[0]);
    int found = 0;
    const auto all = open()->all();
    ASSERT_TRUE(all.ok());
    for (const TuneRecord& r : all.value()) found += r.run.rfind(std::to_string(round) + "-", 0) == 0 ? 1 : 0;
    EXPECT_GE(found, committed);
  }
  EXPECT_TRUE(notes_.empty());
}

TEST_F(Store, ADamagedFileIsSetAsideAndReported) {
  ASSERT_TRUE(open()->add(winnerFor(key_, 0.9)).ok());
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file << std::string(3000, '\x5a');
  }
  EXPECT_EQ(refusal(StoreAccess::kRead).code, ErrorCode::kIo);  // reading changes nothing
  EXPECT_TRUE(notes_.empty());
  ASSERT_TRUE(open()->add(winnerFor(key_, 0.9)).ok());
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_THAT(notes_[0], HasSubstr(".corrupt-"));
  int aside = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(path_).parent_path()))
    aside += entry.path().string().find(".corrupt-") != std::string::npos ? 1 : 0;
  EXPECT_GE(aside, 1);
}

TEST_F(Store, TextIsNoStoreAndIsSetAsideOnlyWhenWriting) {
  std::ofstream(path_) << std::string(4000, 'x');
  fs::permissions(path_, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(refusal(StoreAccess::kRead).message, HasSubstr("damaged"));
  ASSERT_TRUE(open()->add(winnerFor(key_, 0.9)).ok());
  EXPECT_EQ(notes_.size(), 1U);
}

TEST_F(Store, ANewerStoreIsLeftAlone) {
  open();
  run("PRAGMA user_version = 99");
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("schema 99, written by a newer cubejit"));
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(Store, AnotherProgramsFileIsLeftAlone) {
  run("CREATE TABLE bookmarks(x)");
  fs::permissions(path_, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(refusal().message, HasSubstr("not a tuning store"));
}

TEST_F(Store, LinksForeignAndOpenFilesAreRefused) {
  open();
  fs::permissions(path_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(refusal().message, HasSubstr("others may write it"));
  fs::permissions(path_, fs::perms::others_write, fs::perm_options::remove);
  const std::string link = folder_.file("link.db");
  fs::create_symlink(path_, link);
  const auto linked = TuningStore::open(link, StoreAccess::kReadWrite, nullptr);
  ASSERT_FALSE(linked.ok());
  EXPECT_THAT(linked.error().message, HasSubstr("symbolic link"));
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path_.c_str(), 12345, 12345), 0);
    EXPECT_THAT(refusal().message, HasSubstr("another user"));
  }
}

TEST_F(Store, NewFilesAreTheUsersOwn) {
  open();
  struct stat found{};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
}

TEST_F(Store, NetworkFileSystemsGetNoSharedMemoryLog) {
  EXPECT_TRUE(open()->usesWriteAheadLog());
  const auto remote = TuningStore::open(folder_.file("remote.db"), StoreAccess::kReadWrite, &notes_, true);
  ASSERT_TRUE(remote.ok());
  EXPECT_FALSE(remote.value()->usesWriteAheadLog());
  EXPECT_TRUE(remote.value()->add(winnerFor(key_, 0.9)).ok());
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_THAT(notes_[0], HasSubstr("not on a file system known to be local"));
}

TEST_F(Store, AFullDiskIsAnErrorAndLosesNothingCommitted) {
  const auto store = open();
  ASSERT_TRUE(store->add(winnerFor(key_, 0.9, "before")).ok());
  const pid_t pid = fork();  // limits of a process of its own: writing beyond them fails as on a full disk
  if (pid == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{64 << 10, 64 << 10};
    setrlimit(RLIMIT_FSIZE, &small);
    const auto full = TuningStore::open(path_, StoreAccess::kReadWrite, nullptr);
    if (!full.ok()) _exit(0);
    for (int i = 0; i < 200; ++i) {
      const Status kept = full.value()->add(winnerFor(key_, 0.9, std::to_string(i)));
      if (!kept.ok()) _exit(kept.error().code == ErrorCode::kIo ? 0 : 2);
    }
    _exit(3);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  const auto again = open();
  EXPECT_GE(again->all().value().size(), 1U);
  EXPECT_TRUE(again->integrity().value().empty());
  EXPECT_TRUE(again->add(winnerFor(key_, 0.9, "after")).ok());
}

TEST_F(Store, StrangePlansInAStoreAreNoRecords) {
  ASSERT_TRUE(open()->addAll({winnerFor(key_, 0.9, "a"), winnerFor(key_, 0.9, "b"), winnerFor(key_, 0.8, "c")}).ok());
  run("UPDATE record SET plan = '{\"version\":2,\"pass\":\"dx\",\"algorithm\":\"direct\",\"register_w\":\"many\"}' "
      "WHERE run = 'a'");
  run("UPDATE record SET samples_ns = '[-5]' WHERE run = 'b'");
  std::int64_t unreadable = 0;
  EXPECT_EQ(open()->all(&unreadable).value().size(), 1U);
  EXPECT_EQ(unreadable, 2);
}

TEST_F(Store, PrunesWhatIsAskedFor) {
  const auto store = open();
  TuneRecord old = winnerFor(key_, 0.9, "old"), failed = winnerFor(key_, 0, "failed"),
             loser = winnerFor(key_, 1.2, "loser");
  old.version = "0.0.1";
  failed.status = TrialStatus::kRefused;
  failed.won = loser.won = false;
  ASSERT_TRUE(store->addAll({old, failed, loser, winnerFor(key_, 0.9, "winner")}).ok());
  EXPECT_EQ(store->prune({version(), false, false, 0}).value(), 1);
  EXPECT_EQ(store->prune({"", true, false, 0}).value(), 1);
  EXPECT_EQ(store->prune({"", false, true, 0}).value(), 1);
  EXPECT_EQ(store->all().value().size(), 1U);
}

TEST(StoreFile, KnowsLocalFileSystemsOnly) {
  EXPECT_TRUE(isLocalFileSystem(0xEF53));       // ext4
  EXPECT_TRUE(isLocalFileSystem(0x01021994));   // tmpfs
  EXPECT_FALSE(isLocalFileSystem(0x6969));      // NFS
  EXPECT_FALSE(isLocalFileSystem(0xFF534D42));  // CIFS
  EXPECT_FALSE(isLocalFileSystem(0x65735546));  // FUSE: anything may be behind it
  EXPECT_FALSE(isLocalFileSystem(0));
}

}  // namespace
}  // namespace cubejit
