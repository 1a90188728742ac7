// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tests run `cubejit tune` and what reads its store: in a folder and with a store of their own.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/tuning/store.h"
#include "tests/support/command.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {

class TuneCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  }
  std::string line(const std::string& arguments) const {
    return "cd " + folder_.file("") + " && env CUBEJIT_DB=tune.db CUBEJIT_SYSTEM_DB= CUBEJIT_TUNE=use " + prefix_ +
           " timeout 120 " + CUBEJIT_CLI + " " + arguments;
  }
  Outcome run(const std::string& arguments) const {
    return outcomeOf(line(arguments) + " >out.txt 2>err.txt </dev/null", folder_.file("out.txt"),
                     folder_.file("err.txt"));
  }
  std::vector<TuneRecord> records(const std::string& name = "tune.db") const {
    const auto store = TuningStore::open(folder_.file(name), StoreAccess::kRead, nullptr);
    return store.ok() ? store.value()->all().value() : std::vector<TuneRecord>{};
  }
  void writeSuite(int problems) const {
    std::ofstream suite(folder_.file("suite.jsonl"));
    for (int i = 1; i <= problems; ++i) {
      suite << R"({"name":"p)" << i << R"(","rank":1,"n":2,"ci":16,"co":)" << 8 * i
            << R"(,"input":[1,1,40],"output":[1,1,40],"kernel":[1,1,3],"pad":[0,0,0,0,1,1]})"
            << "\n";
    }
  }
  // Starts the command, ends it by a signal after a while, and returns its exit code (or 1000 + signal).
  int interrupted(const std::string& arguments, int signal, int afterMs) const {
    const pid_t pid = fork();
    if (pid == 0) {
      const std::string text = "exec env CUBEJIT_DB=tune.db CUBEJIT_SYSTEM_DB= " + std::string(CUBEJIT_CLI) + " " +
                               arguments + " >out.txt 2>err.txt </dev/null";
      if (chdir(folder_.file("").c_str()) != 0) _exit(9);
      execl("/bin/sh", "sh", "-c", text.c_str(), nullptr);
      _exit(9);
    }
    usleep(static_cast<useconds_t>(afterMs) * 1000);
    kill(pid, signal);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  ScratchFolder folder_{"tune_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name())};
  std::string prefix_;
};

}  // namespace cubejit
