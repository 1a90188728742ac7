// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does the command help those who do not know its words yet?
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "tests/support/cli.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

TEST_F(Cli, UnknownWordsAreNamedWithTheNearest) {
  refused(2, "plna", {"unknown command 'plna'; the nearest is plan"});
  refused(2, "benhc --threads 2", {"unknown command 'benhc'; the nearest is bench"});
  refused(2, "tune-wroker", {"tune, db\n"});  // what only the command itself calls is not offered
  refused(2, "xyz", {"unknown command 'xyz'; there are targets, plan, "});
  refused(2, "db lst", {"unknown command 'lst' of db; the nearest is list"});
  refused(2, "db", {"subcommand is required"});
  refused(2, "plan --thread 2", {"unknown flag '--thread' of plan; the nearest is --threads"});
  refused(2, "plan --inptu=1,4,6", {"unknown flag '--inptu' of plan; the nearest is --input"});
  refused(2, "plan extra", {"unknown word 'extra' of plan"});
}

// By their letters, or by what other projects call them.
TEST_F(Cli, UnknownValuesAreNamedWithTheNearest) {
  const std::string small = "--input 1,4,8 --weight 4,4,3";
  for (const auto& [words, near] : std::map<std::string, std::string>{{"plan --dtype fp32", "f32"},
                                                                      {"plan --dtype f16,dw=float", "f32"},
                                                                      {"plan --passes forward", "y"},
                                                                      {"plan --passes dx,bwd_w", "dw"},
                                                                      {"plan --layout channels_last", "ndhwc"},
                                                                      {"plan --layout grad_input=ndhwc", "dx"},
                                                                      {"plan --isa avx512_core", "avx512"},
                                                                      {"plan --math fast", "relaxed"},
                                                                      {"plan --algorithm wino", "winograd"},
                                                                      {"plan --post-ops clamp", "clip:LOW:HIGH"},
                                                                      {"tune --strategy exhaust", "exhaustive"},
                                                                      {"tune --progress jsn", "json"}})
    refused(2, words + " " + small, {"unknown ", "; the nearest is " + near + "; there are "});
  refused(2, "plan " + small + " --post-ops leaky_relu:0,5", {"write numbers with a point: leaky_relu:0.5"});
}

// The names of a help page's list of commands.
std::vector<std::string> commandsOf(const std::string& help) {
  std::vector<std::string> names;
  const std::size_t list = help.find("Subcommands:\n");
  if (list == std::string::npos) return names;
  std::istringstream in(help.substr(help.find('\n', list) + 1));
  for (std::string line; std::getline(in, line) && !line.empty();) {
    if (line.size() > 2 && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

// Files are channels-last unless they are said to be plain, and so is what is told of them.
TEST_F(Cli, RunTellsTheAxesOfItsFiles) {
  const std::string layer = "run --input 2,3,5,7 --weight 4,3,1,1 --in dy=dy.npy --in x=x.npy --out dw=dw.npy --json";
  write("dy.npy", npy("(2, 5, 7, 4)", std::vector<float>(280)));
  write("x.npy", npy("(2, 3, 5, 7)", std::vector<float>(210)));
  refused(2, layer, {"x.npy: has shape (2,3,5,7,), the problem and layout need (2,5,7,3,), that is N,H,W,C"});
  refused(2, layer + " --layout ncdhw", {"dy.npy", "need (2,4,5,7,), that is N,C,H,W"});
  write("x.npy", npy("(2, 5, 7, 3)", std::vector<float>(210)));
  const Outcome o = run(layer);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr(R"("shape":[4,3,1,1],"axes":"O,I/g,H,W")"));
  EXPECT_THAT(run("run --help").out, HasSubstr("N,spatial,C (weights O,I,spatial) by default"));
}

TEST_F(Cli, EveryCommandRefusesAnEnvironmentThatDoesNotExist) {
  for (const std::string& command : commandsOf(run("--help").out)) {
    SCOPED_TRACE(command);
    const std::string words = run(command + " --help").out, mark = "Example: cubejit ";
    const std::size_t at = words.find(mark) + mark.size();
    const std::string line = words.substr(at, words.find('\n', at) - at);
    refused(2, line, {"CUBEJIT_BACKEND: unknown backend 'foo'; there are xbyak, llvm"}, "", "CUBEJIT_BACKEND=foo");
    refused(2, line, {"CUBEJIT_TUNE: ", "off, use, missing, always"}, "", "CUBEJIT_TUNE=foo");
  }
}

// Every page ends with an example of its own, and what it says runs.
TEST_F(Cli, ExamplesOfHelpPagesAreTheirOwnAndRun) {
  const std::vector<float> image(64 * 56 * 56), weights(64 * 64 * 9);
  for (const char* name : {"x.npy", "dy.npy"}) write(name, npy("(1, 56, 56, 64)", image));
  write("w.npy", npy("(64, 64, 3, 3)", weights));
  const std::string environment = "env CUBEJIT_DB=tune.db CUBEJIT_SYSTEM_DB= CUBEJIT_TUNE=use";
  const std::string tuned = "tune --input 1,16,20 --weight 16,16,3 --passes dx --trials 2 --progress none";
  if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  ASSERT_EQ(run(tuned, "", environment).code, 0);
  write("mine.jsonl", run("db export", "", environment).out);
  std::filesystem::copy_file(folder_ / "tune.db", folder_ / "other.db");
  ASSERT_EQ(run("dump --input 1,16,1,4 --weight 16,16,1,1 --passes dx --emit tile -o out").code, 0);
  for (const auto& dumped : std::filesystem::directory_iterator(folder_ / "out"))
    std::filesystem::copy_file(dumped.path() / "tile.txt", folder_ / "layer.tile");
  const auto check = [&](const std::string& path) {
    SCOPED_TRACE(path);
    const std::string help = run(path + " --help").out, mark = "Example: cubejit ";
    const std::size_t at = help.find(mark);
    ASSERT_NE(at, std::string::npos) << help;
    const std::string words = help.substr(at + mark.size(), help.find('\n', at) - at - mark.size());
    EXPECT_THAT(words + " ", ::testing::StartsWith(path.empty() ? "plan " : path + " "));
    EXPECT_EQ(help.find(mark, at + 1), std::string::npos);
    EXPECT_THAT(help, HasSubstr("Exit codes: 0 ok"));
    const Outcome o = run(words, "", environment);
    EXPECT_TRUE(o.code == 0 || (path == "db diff" && o.code == 1)) << words << "\n" << o.err;
  };
  check("");
  const std::vector<std::string> commands = commandsOf(run("--help").out);
  EXPECT_GE(commands.size(), 11U);
  for (const std::string& command : commands) {
    check(command);
    for (const std::string& part : commandsOf(run(command + " --help").out)) check(command + " " + part);
  }
}

}  // namespace
}  // namespace cubejit
