// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of ranks that tune together: is the work of a dead one done, and do those who wait leave the processors to those who measure?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "runtime/tuning/json_record.h"
#include "tests/support/tune_command.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

class TuneRanks : public TuneCommand {
 protected:
  void SetUp() override {
    TuneCommand::SetUp();
    if (std::system("mpirun --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "mpirun is not installed";
    if (run("tune --mpi --input 1,1,1 --weight 1,1,1 --trials 1").err.find("built without MPI") != std::string::npos)
      GTEST_SKIP() << "built without MPI";
    std::filesystem::remove(folder_.file("tune.db"));
  }
  std::string mpirun(const std::string& flags) const {
    return "cd " + folder_.file("") +
           " && env CUBEJIT_DB=tune.db CUBEJIT_SYSTEM_DB= OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
           "timeout 100 mpirun --oversubscribe " +
           flags + " ";
  }
};

// Three ranks share a suite; one is killed. With recovery the others finish all of it, and nothing committed is lost.
TEST_F(TuneRanks, ShareASuiteAndSurviveOne) {
  writeSuite(6);
  // Rank 2 dies as soon as all three have committed something.
  std::ofstream(folder_.file("victim.sh"))
      << "#!/bin/sh\nif [ \"$OMPI_COMM_WORLD_RANK\" = 2 ]; then\n  (until [ \"$(" << CUBEJIT_CLI
      << " db export --db tune.db --jsonl 2>/dev/null | grep -o '\"run\":\"[^\"]*\"' | sort -u | wc -l)\" -ge 3 ]; "
         "do sleep 0.05; done; kill -KILL $$) &\nfi\nexec \"$@\"\n";
  const std::string share =
      std::string(CUBEJIT_CLI) + " tune --mpi --suite suite.jsonl --passes dx,dw --trials 120 --progress plain";
  const int status = std::system(
      (mpirun("--enable-recovery -n 3") + "sh victim.sh " + share + " >out.txt 2>err.txt </dev/null").c_str());
  static_cast<void>(status);  // mpirun's code is that of the rank that was killed
  EXPECT_THAT(slurp(folder_.file("err.txt")), HasSubstr("rank 2 died"));
  std::map<std::string, int> keys, runs;
  for (const TuneRecord& r : records()) {
    ++keys[r.key.problem.name + toString(r.key.pass)];
    ++runs[r.run];
  }
  EXPECT_EQ(keys.size(), 12U) << slurp(folder_.file("err.txt"));
  EXPECT_EQ(runs.size(), 3U);
  EXPECT_EQ(run("db verify").code, 0);
}

// One problem, two ranks: the one that gets none sleeps until the other has measured, in our loops and in those of MPI.
TEST_F(TuneRanks, WaitAsleep) {
  std::ofstream(folder_.file("timed.sh")) << "#!/bin/sh\n\"$@\"\ntimes >times.$OMPI_COMM_WORLD_RANK\n";
  const std::string tune = std::string(CUBEJIT_CLI) +
                           " tune --mpi --input 4,32,28,28 --weight 32,32,3,3 --padding 1 "
                           "--passes dx --budget 6s --trials 100000 --progress none";
  ASSERT_EQ(std::system((mpirun("-n 2") + "sh timed.sh " + tune + " >out.txt 2>err.txt </dev/null").c_str()), 0)
      << slurp(folder_.file("err.txt"));
  const auto seconds = [&](int rank) {  // of its children, user and system: the second line, "0m1.2s 0m0.1s"
    std::ifstream file(folder_.file("times." + std::to_string(rank)));
    std::string text;
    std::getline(file, text);
    int minutes[2] = {-1, -1};
    double left[2] = {0, 0};
    std::getline(file, text);
    EXPECT_EQ(std::sscanf(text.c_str(), "%dm%lfs %dm%lfs", &minutes[0], &left[0], &minutes[1], &left[1]), 4) << text;
    return 60 * (minutes[0] + minutes[1]) + left[0] + left[1];
  };
  // What both need to start, and what the machine's other work leaves of the budget, must not decide: rank beside rank.
  EXPECT_LT(2 * std::min(seconds(0), seconds(1)), std::max(seconds(0), seconds(1)));
}

}  // namespace
}  // namespace cubejit
