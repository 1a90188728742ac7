// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tests keep a store of tuning records from everybody: another process has a transaction open.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace cubejit {

inline constexpr const char* kHoldsWriters = "BEGIN EXCLUSIVE";
inline constexpr const char* kHoldsEverybody = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE";

/// Precondition: this process has no connection to the file, which a fork must not share.
class HeldStore {
 public:
  explicit HeldStore(const std::string& path, const char* how = kHoldsWriters) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    process_ = fork();
    if (process_ == 0) {
      sqlite3* db = nullptr;
      const bool held =
          sqlite3_open(path.c_str(), &db) == SQLITE_OK && sqlite3_exec(db, how, nullptr, nullptr, nullptr) == SQLITE_OK;
      if (held && write(ready[1], "x", 1) == 1) pause();
      _exit(1);
    }
    close(ready[1]);
    char told = 0;
    EXPECT_EQ(read(ready[0], &told, 1), 1) << "the store is not held";
    close(ready[0]);
  }
  ~HeldStore() { release(); }
  HeldStore(const HeldStore&) = delete;
  HeldStore& operator=(const HeldStore&) = delete;
  void release() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_ = -1;
};

}  // namespace cubejit
