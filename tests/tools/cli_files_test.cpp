// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of every flag that names a file, and of every command that writes one: what if the file does not end, is a folder, has a strange name,
// does not say all, or may not grow?
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSmall = "--input 1,4,6 --weight 3,4,3 --padding 1";
const std::string kChip = "--input 1,16,8,8 --weight 16,16,3,3 --padding 1 --dtype f16";
const std::string kExplored = "explore " + kChip + " --soc ascend910b2 --vary cores=2,4 --passes dx";

// Command lines that read text from a file, without its name.
const std::vector<std::string> kReaders = {
    "verify " + kSmall + " --plan ",
    "plan --problem ",
    "verify --suite ",
    "plan " + kSmall + " --passes dx --pin ",
    "plan " + kChip + " --soc ./",
    "explore " + kChip + " --vary cores=2,4 --machine ./",
    kExplored + " --energy ",
    "tiling --soc ascend910b2 --import ",
    "tune --simulate ",
    "kernel ",
};

std::size_t countOf(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST_F(Cli, FilesThatDoNotEndAreErrors) {
  fs::create_symlink("/dev/zero", folder_ / "zero");
  for (const std::string& reader : kReaders) {
    SCOPED_TRACE(reader);
    const Outcome o = run(reader + "zero", "", "ulimit -v 1500000 &&");
    EXPECT_TRUE(o.code == 2 || o.code == 5) << o.code;
    EXPECT_THAT(o.err, AllOf(HasSubstr("zero"), HasSubstr("MiB"), HasSubstr("should hold")));
  }
  Outcome o = run("plan " + kSmall, "", "ulimit -v 1500000 && env CUBEJIT_PIN=zero");
  EXPECT_THAT(o.err, AllOf(HasSubstr("zero is not a regular file, and is longer than 256 MiB"), HasSubstr("pins")));
  o = run("db import --db store.db zero", "", "ulimit -v 1500000 &&");
  EXPECT_EQ(o.code, 5);
  EXPECT_THAT(o.err, HasSubstr("256 MiB"));
  o = run(kExplored + " --out /dev/full", "", "ulimit -v 1500000 &&");
  EXPECT_EQ(o.code, 5);
  EXPECT_THAT(o.err, HasSubstr("cannot write /dev/full: No space left"));
  write("long.jsonl", std::string(std::size_t{64} << 20, 'x'));  // a line of it is not held
  o = run("db import --db store.db long.jsonl", "", "ulimit -v 1500000 &&");
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("left out long.jsonl:1: the line is longer than 1 MiB"));
}

TEST_F(Cli, FoldersAndStrangeNamesAreToldInOneLine) {
  fs::create_directory(folder_ / "folder");
  std::vector<std::string> readers = kReaders;
  for (const char* more : {"run --out db=db.npy --in dy=", "pack --tensor x --out packed --in "})
    readers.push_back(more + std::string());
  for (std::string& reader : readers) {
    if (reader.rfind("run", 0) == 0 || reader.rfind("pack", 0) == 0) reader.insert(reader.find(' '), " " + kSmall);
    const Outcome folder = run(reader + "folder");
    EXPECT_EQ(folder.code, 5) << reader;
    EXPECT_THAT(folder.err, HasSubstr("folder: it is a folder")) << reader;
    if (reader.find("--pin") != std::string::npos) continue;  // a file that is not there is begun
    const Outcome strange = run(reader + "'no\nsuch\x1b[31m'");
    EXPECT_EQ(strange.code, 5) << reader;
    EXPECT_THAT(strange.err, HasSubstr("no\\x0asuch\\x1b[31m: No such file")) << reader;
    EXPECT_EQ(countOf(strange.err, "error["), 1U) << strange.err;
  }
  for (const std::string& writer :
       std::vector<std::string>{"run " + kSmall + " --layout ncdhw --in dy=dy.npy --out db=", kExplored + " --out ",
                                kExplored + " --report ", "db list --db "}) {
    write("dy.npy", npy("(1, 3, 6)", std::vector<float>(18)));
    const Outcome o = run(writer + "'no\nsuch/x'");
    EXPECT_EQ(o.code, 5) << writer;
    EXPECT_THAT(o.err, HasSubstr("no\\x0asuch/x")) << writer;
    EXPECT_EQ(countOf(o.err, "error["), 1U) << o.err;
  }
}

// `ulimit -f` ends whoever does not expect it by a signal.
TEST_F(Cli, FilesThatMayNotGrowAreErrorsAndLeaveNothingHalf) {
  const std::string layer = "--input 1,16,16,16 --weight 16,16,3,3 --padding 1 --layout ncdhw";
  const std::string values = npy("(1, 16, 16, 16)", std::vector<float>(4096));
  write("dy.npy", values);
  write("pins", std::string(1020, '\n'));
  write("records.db", "");
  for (const std::string& command : std::vector<std::string>{
           "run " + layer + " --in dy=dy.npy --out db=db.npy",
           "run " + layer + " --in dy=dy.npy --in w=w.npy --out dx=dx.npy",
           "pack " + layer + " --tensor dy --in dy.npy --out packed.npy",
           "pack " + layer + " --tensor dy --in dy.npy --out packed.raw",
           "dump " + layer + " --passes dx --emit tile,asm,html -o out", kExplored + " --out points.jsonl",
           kExplored + " --report page.html", "plan " + layer + " --passes dx --pin pins",
           "tiling " + kChip + " --soc ascend910b2 --passes dw --raw tiling.bin", "db list --db records.db",
           "db import --db other.db records.jsonl",
           "tune " + layer + " --passes dx --trials 1 --progress none --db tune.db"}) {
    SCOPED_TRACE(command);
    write("w.npy", npy("(16, 16, 3, 3)", std::vector<float>(2304)));
    const Outcome o = run(command, "", "ulimit -f 2 &&");
    EXPECT_LT(o.code, 7) << "it ends by itself: " << o.err;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      EXPECT_THAT(entry.path().string(), Not(HasSubstr(".tmp-")));
  }
  for (const std::string& command :
       std::vector<std::string>{"run " + layer + " --in dy=dy.npy --in w=w.npy --out dx=dx.npy",
                                "plan " + layer + " --passes dx --pin pins", kExplored + " --out points.jsonl"}) {
    const Outcome o = run(command, "", "ulimit -f 2 &&");
    EXPECT_EQ(o.code, 5) << command;
    EXPECT_THAT(o.err, HasSubstr("File too large")) << command;
  }
}

TEST_F(Cli, PlansThatAreGivenAreThoseOfEveryPassThatIsAsked) {
  const Json plan = Json::parse(run("plan " + kSmall + " --passes dx --json --algorithm direct").out).at("plan");
  write("dx.json", plan.dump() + "\n");
  write("empty.json", "");
  for (const std::string command : {"verify ", "bench ", "plan ", "dump -o out "}) {
    refused(2, command + kSmall + " --plan dx.json",
            {"has plans of dx, and dx, dw, db are asked for; add plans of dw"});
    refused(2, command + kSmall + " --passes dw --plan dx.json", {"add plans of dw"});
    refused(2, command + kSmall + " --passes db --plan dx.json", {"add plans of db"});
    refused(2, command + kSmall + " --passes dx,db --plan empty.json", {"has plans of no pass", "add plans of dx"});
    refused(2, command + kSmall + " --plan ''", {"--plan is given an empty text"});
  }
  EXPECT_EQ(run("verify " + kSmall + " --passes dx,db --plan dx.json").code, 0) << "db is a sum";
  Json other = plan;
  other["unroll"] = plan.at("unroll").get<int>() == 1 ? 2 : 1;
  write("dx.json", other.dump() + "\n");
  const Outcome shown = run("plan " + kSmall + " --passes dx --plan dx.json --json");
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(Json::parse(shown.out).at("plan"), other);
  EXPECT_EQ(Json::parse(shown.out).at("source"), "caller");
  other["register_vectors"] = 1000;
  write("dx.json", other.dump() + "\n");
  for (const std::string command : {"verify ", "plan ", "bench "}) {
    const Outcome o = run(command + kSmall + " --passes dx --plan dx.json");
    EXPECT_NE(o.code, 0);
    EXPECT_THAT(o.err, AllOf(HasSubstr("register"), Not(HasSubstr("smaller strides")))) << command;
  }
  refused(3, "bench --json " + kSmall + " --passes dx --plan dx.json", {"leave --plan out"});
}

TEST_F(Cli, KeysThatAreThereTwiceAreNamed) {
  write("plan.json", R"({"version":2,"version":2,"pass":"dx","algorithm":"direct"})");
  refused(2, "verify " + kSmall + " --passes dx --plan plan.json",
          {"plan.json:1: the plan has the key 'version' twice"});
  write("chip.json", R"({"name":"a","cores":2,"rates":{"ddr_read":1,"ddr_read":2}})");
  refused(2, "plan " + kChip + " --soc ./chip.json", {"the machine has the key 'ddr_read' twice"});
  write("energy.json", R"({"dram":1,"dram":2})");
  refused(2, kExplored + " --energy energy.json", {"has the key 'dram' twice"});
  write("tiling.json", R"({"struct":"a","struct":"b"})");
  refused(2, "tiling --soc ascend910b2 --import tiling.json", {"the tiling has the key 'struct' twice"});
  refused(2, "plan --problem -", {"the problem has the key 'n' twice"}, R"({"n":1,"ci":2,"n":3})");
  std::string array = npy("(1, 3, 6)", std::vector<float>(18));
  const std::size_t spaces = array.find("    ");
  const std::string again = "'descr': '<f4', ";
  array.replace(array.find("'shape'"), 0, again);
  array.erase(spaces + again.size(), again.size());
  write("dy.npy", array);
  refused(2, "run " + kSmall + " --layout ncdhw --in dy=dy.npy --out db=db.npy", {"dy.npy: has 'descr' twice"});
}

TEST_F(Cli, HelpThatCannotBePrintedIsAnError) {
  for (const std::string words : {"--help", "--version", "plan --help", "db --help", "db list --help", "targets"}) {
    for (const std::string to : {">/dev/full", ">&-"}) {
      const std::string line = std::string(CUBEJIT_CLI) + " " + words + " " + to + " 2>" + (logs_ / "err").string();
      const Outcome o = outcomeOf(line, logs_ / "none", logs_ / "err");
      EXPECT_EQ(o.code, 5) << words << to;
      EXPECT_THAT(o.err, HasSubstr("error[io]: cannot write to standard output")) << words << to;
    }
  }
}

TEST_F(Cli, InputsThatNothingReadsAreRefused) {
  const std::string run = "run " + kSmall + " --layout ncdhw ";
  refused(2, run + "--in x=x.npy --in w=w.npy --in b=b.npy --out y=y.npy",
          {"--in b=b.npy is read by none of the passes asked for (y, without post-ops)", "--post-ops bias"});
  refused(2, run + "--in dy=dy.npy --in x=x.npy --out db=db.npy", {"--in x=x.npy is read by none"});
  refused(2, run + "--post-ops bias --in x=x --in w=w --in b=b --in z=z --out y=y", {"--in z=z", "--post-ops add"});
}

// However they are spelled, and whether they are there or not.
TEST_F(Cli, FilesOfACommandAreDistinct) {
  write("there.npy", "x");
  fs::create_symlink(folder_ / "there.npy", folder_ / "link.npy");
  fs::create_hard_link(folder_ / "there.npy", folder_ / "hard.npy");
  fs::create_symlink("new.npy", folder_ / "dangling.npy");
  const std::string both = "run " + kSmall + " --in dy=dy.npy --in x=x.npy --in w=w.npy --out dx=";
  const std::pair<const char*, const char*> same[] = {{"new.npy", "./new.npy"},
                                                      {"there.npy", "link.npy"},
                                                      {"there.npy", "hard.npy"},
                                                      {"new.npy", "dangling.npy"},
                                                      {"no/../new.npy", "new.npy"}};
  for (const auto& [a, b] : same)
    refused(2, both + a + " --out dw=" + b, {"--out dw and --out dx are the same file", "give another name"});
  refused(2, both + "w.npy", {"--out dx and --in w are the same file"});
  refused(2, both + "new.npy --soc ascend910b2 --trace new.npy --timeline ./new.npy",
          {"--trace and --timeline are the same file", "--trace and --out dx are the same file"});
  EXPECT_EQ(slurp(folder_ / "there.npy"), "x");
  const std::string chip = kChip + " --passes dx --soc ascend910b2 ";
  refused(2, "explore " + chip + "--vary cores=8..16 --out points --report ./points",
          {"--out and --report are the same"});
  refused(2, "tune " + chip + "--trials 1 --db records.db --report records.db",
          {"--report and the store are the same"});
  refused(2, "tiling " + kChip + " --passes dx,dw --soc ascend910b2 --raw struct.bin",
          {"--raw is one file", "2 structs"});
}

TEST_F(Cli, AnExplorationHasItsFileForItself) {
  const std::string words = kExplored + " --out points";
  ASSERT_EQ(run(words).code, 0);
  const std::string whole = slurp(folder_ / "points");
  const int other = ::open((folder_ / "points").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  refused(5, words, {"points is in use by another exploration"});
  close(other);
  const std::string closed = "cd " + folder_.string() + " && " + CUBEJIT_CLI + " " + words + " >&- 2>/dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(closed.c_str())), 5);  // what cannot be printed does not go into the file
  EXPECT_EQ(slurp(folder_ / "points"), whole);
}

TEST_F(Cli, NumbersOutOfRangeAreNamedAsTyped) {
  const auto ask = [&](const char* words, const std::string& kind) {
    const std::string typed(words);
    refused(2, typed + " " + kSmall, {typed.substr(typed.rfind(' ') + 1) + " must be a " + kind + " from "});
  };
  for (const char* words : {"bench --min-seconds nan", "bench --min-seconds inf", "bench --min-seconds -5",
                            "bench --min-seconds 0,5", "verify --max-macs nan", "verify --max-macs 1e301"})
    ask(words, "number");
  for (const char* words :
       {"bench --min-samples 0", "bench --min-samples 1000000001", "verify --max-elements -1",
        "verify --max-elements 9223372036854775808", "verify --seed -1", "verify --seed 18446744073709551616",
        "verify --seed 99999999999999999999", "verify --seed 0x10", "verify --seed 1e3", "verify --fuzz 0",
        "verify --fuzz 1.5", "verify --groups 9223372036854775808", "verify --groups 18446744073709551617",
        "tune --trials 0", "tune --trials 18446744073709551617", "tune --seed 18446744073709551616"})
    ask(words, "whole number");
  refused(2, "db list --pass forward --db records.db", {"unknown pass 'forward'; the nearest is y"});
}

TEST_F(Cli, NumbersAtTheEndsOfTheirRangesAreThese) {
  const auto dataOf = [&](const std::string& seed) {
    const Outcome o = run("verify --fuzz 1 --max-macs 1e4 --json --seed " + seed);
    EXPECT_EQ(o.code, 0) << o.err;
    return o.out;
  };
  const std::string last = dataOf("18446744073709551615");
  EXPECT_THAT(last, HasSubstr("--seed 18446744073709551615"));
  EXPECT_EQ(dataOf("010"), dataOf("10")) << "no octal";
  EXPECT_NE(dataOf("18446744073709551614"), last);
}

TEST_F(Cli, FilesOfOtherLinesAreGivenUpSoon) {
  std::string lines;
  for (int i = 0; i < 200'000; ++i) lines += "x\n";
  write("lines.txt", lines);
  const Outcome imported = run("db import --db records.db lines.txt");
  EXPECT_EQ(imported.code, 2);
  EXPECT_THAT(imported.err, AllOf(HasSubstr("more than 1000 lines are no records"), HasSubstr("lines.txt:1: ")));
  refused(2, "plan " + kSmall + " --passes dx --plan lines.txt", {"lines.txt:20: ", "what follows was not read"});
}

TEST_F(Cli, NumbersOfThreadsHaveOneRange) {
  const std::string range = "must be a whole number of threads from 1 to 1024";
  for (const char* threads : {"0", "1025", "2000", "-1", "two", "1,", "1,1025"}) {
    for (const char* command : {"plan ", "verify ", "bench ", "explore "})
      refused(2, command + kSmall + " --threads " + threads, {"--threads: '", range});
  }
  refused(2, "plan " + kSmall + " --threads ''", {"--threads is given an empty text"});
  refused(2, "plan " + kSmall, {"CUBEJIT_NUM_THREADS: '1025' " + range}, "", "env CUBEJIT_NUM_THREADS=1025");
  EXPECT_EQ(run("plan " + kSmall + " --threads 1024").code, 0);
}

TEST_F(Cli, EventsThatCannotBeKeptAreToldOnce) {
  for (const std::string file : {"/dev/full", "/nonexistent/log"}) {
    const Outcome o = run("verify " + kSmall, "", "env CUBEJIT_VERBOSE=all CUBEJIT_VERBOSE_FILE=" + file);
    EXPECT_EQ(o.code, 0);
    EXPECT_EQ(countOf(o.err, "events are lost, " + file + " cannot be written: "), 1U) << o.err;
  }
}

}  // namespace
}  // namespace cubejit
