// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does the command go on while another process holds the store, and are its records there once that lets go?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/tuning/store.h"
#include "tests/support/command.h"
#include "tests/support/held_store.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BusyStore : public ::testing::Test {
 protected:
  void SetUp() override {
    if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  }
  Outcome run(const std::string& arguments, const std::string& name = "one") const {
    const std::string out = folder_.file(name + ".out"), err = folder_.file(name + ".err");
    return outcomeOf("cd " + folder_.file("") +
                         " && env CUBEJIT_DB=tune.db CUBEJIT_SYSTEM_DB= CUBEJIT_TUNE=use timeout 120 " + CUBEJIT_CLI +
                         " " + arguments + " >" + out + " 2>" + err + " </dev/null",
                     out, err);
  }
  std::size_t stored() const {
    return TuningStore::open(folder_.file("tune.db"), StoreAccess::kRead, nullptr).value()->all()->size();
  }
  ScratchFolder folder_{"busy"};
  const std::string tune_ =
      "tune --input 2,16,12,12 --weight 16,16,3,3 --padding 1 --passes dx --trials 3 --progress none";
};

TEST_F(BusyStore, TakesTheRecordsLater) {
  ASSERT_EQ(run(tune_).code, 0);
  const std::size_t before = stored();
  ASSERT_GE(before, 3U);
  HeldStore held(folder_.file("tune.db"));
  std::vector<Outcome> outcomes(5);
  std::vector<std::thread> tuners;
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    tuners.emplace_back([&, i] { outcomes[i] = run(tune_ + " --db-wait 0.1", std::to_string(i)); });
  for (std::thread& tuner : tuners) tuner.join();
  for (const Outcome& o : outcomes) {
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_THAT(o.err, AllOf(HasSubstr("let go"), HasSubstr("tune.db.waiting.jsonl")));
  }
  EXPECT_THAT(run("db prune --losers --db-wait 0").err, HasSubstr("let go"));
  held.release();
  EXPECT_EQ(run("db list").code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("tune.db.waiting.jsonl")));
  EXPECT_GE(stored(), before + 5 * 3);
  EXPECT_EQ(run("db verify").code, 0);
}

TEST_F(BusyStore, TheWaitIsANumberOfSeconds) {
  EXPECT_EQ(run("db list --db-wait -1").code, 2);
  EXPECT_EQ(run(tune_ + " --db-wait soon").code, 2);
}

}  // namespace
}  // namespace cubejit
