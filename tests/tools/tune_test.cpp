// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does tuning from the command line keep what it measured through interruption and death, does it say what is wrong with
// its flags and files, and do records move between stores?
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cubejit/cubejit.hpp"
#include "runtime/tuning/json_record.h"
#include "runtime/tuning/store.h"
#include "tests/support/command.h"
#include "tests/support/plan_fields.h"
#include "tests/support/tune_command.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const char* const kProblem = "--input 2,16,10,10 --weight 32,16,3,3 --padding 1 --passes dx";

class Tune : public TuneCommand {};

TEST_F(Tune, LevelsThatThisCpuLacksAreRefusedAtOnce) {
  if (checkRunnable(IsaLevel::kAvx512AmxFp16).ok()) GTEST_SKIP() << "this one lacks none";
  const Outcome refused = run(std::string("tune ") + kProblem + " --isa avx512_amx_fp16");
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("error[unsupported]"), HasSubstr("cannot run avx512_amx_fp16 code")));
  EXPECT_THAT(refused.err, testing::Not(HasSubstr("bug in cubejit")));
}

TEST_F(Tune, RecordsAreUsedByLaterRuns) {
  const Outcome tuned = run(std::string("tune ") + kProblem + " --trials 12 --json --progress json");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const Json row = Json::parse(tuned.out);
  EXPECT_EQ(row["schema"], "cubejit.tune/1");
  EXPECT_EQ(row["trials"], 12);
  EXPECT_LE(row["relative"], 1.0);
  EXPECT_DOUBLE_EQ(row["model_regret"], row["gain"].get<double>() - 1);
  std::istringstream events(tuned.err);
  int trials = 0;
  for (std::string text; std::getline(events, text);) trials += Json::parse(text)["event"] == "trial" ? 1 : 0;
  EXPECT_EQ(trials, 13);
  EXPECT_EQ(records().size(), 13U);
  const Outcome planned = run(std::string("plan ") + kProblem + " --json");
  EXPECT_EQ(Json::parse(planned.out)["source"], "record");
  EXPECT_EQ(Json::parse(planned.out)["plan"], row["plan"]);
  EXPECT_EQ(run(std::string("verify ") + kProblem).code, 0);
  // A program's session that is given no options finds it, too.
  setenv("CUBEJIT_TUNE", "use", 1);
  setenv("CUBEJIT_DB", folder_.file("tune.db").c_str(), 1);
  const auto inProcess = Session().plan(records().front().key.problem, Pass::kDx);
  setenv("CUBEJIT_TUNE", "off", 1);
  unsetenv("CUBEJIT_DB");
  ASSERT_TRUE(inProcess.ok()) << inProcess.error().message;
  EXPECT_EQ(inProcess->source, PlanSource::kRecord);
}

TEST_F(Tune, ResumingMeasuresNothingTwice) {
  writeSuite(3);
  ASSERT_EQ(run("tune --suite suite.jsonl --passes dx,dw --trials 6 --progress none").code, 0);
  const std::vector<TuneRecord> first = records();
  const Outcome again = run("tune --suite suite.jsonl --passes dx,dw --trials 4 --resume --progress none");
  ASSERT_EQ(again.code, 0) << again.err;
  std::map<std::string, int> measured;
  for (const TuneRecord& r : records()) {
    if (r.status == TrialStatus::kMeasured && !r.won)
      ++measured[problemIdentity(r.key.problem) + toString(r.key.pass) + planIdentity(r.plan)];
  }
  for (const auto& [plan, count] : measured) EXPECT_EQ(count, 1) << plan;
  EXPECT_GT(records().size(), first.size());
}

// Killed at moments spread over a run: what was committed stays, and nothing committed is measured again.
TEST_F(Tune, KillsLoseNothing) {
  writeSuite(4);
  std::map<std::string, std::string> committed;
  for (int round = 0; round < 8; ++round) {
    EXPECT_EQ(interrupted("tune --suite suite.jsonl --passes dx,dw --trials 400 --resume --progress none", SIGKILL,
                          120 + 37 * round),
              1000 + SIGKILL);
    std::map<std::string, std::string> now;
    for (const TuneRecord& r : records()) {
      const std::string key = problemIdentity(r.key.problem) + toString(r.key.pass) + planIdentity(r.plan);
      EXPECT_TRUE(now.emplace(key, r.run).second) << "measured twice: " << key;
    }
    for (const auto& [key, runName] : committed) EXPECT_EQ(now[key], runName) << "lost or replaced: " << key;
    committed = now;
  }
  EXPECT_GT(committed.size(), 5U);
  EXPECT_EQ(run("db verify").code, 0);
}

TEST_F(Tune, CtrlCEndsCleanly) {
  writeSuite(6);
  const int code = interrupted("tune --suite suite.jsonl --passes dx,dw --budget 60s --progress none", SIGINT, 700);
  EXPECT_EQ(code, 130);
  EXPECT_THAT(slurp(folder_.file("err.txt")),
              AllOf(HasSubstr("every finished trial is stored"), HasSubstr("--resume")));
  EXPECT_GT(records().size(), 1U);
  for (const TuneRecord& r : records()) EXPECT_TRUE(r.untuned || !r.won) << "nothing was confirmed in so short a time";
  EXPECT_EQ(interrupted("tune --suite suite.jsonl --passes dx,dw --budget 60s --progress json", SIGINT, 700), 130);
  std::istringstream events(slurp(folder_.file("err.txt")));
  for (std::string text; std::getline(events, text);)
    EXPECT_FALSE(Json::parse(text, nullptr, false).is_discarded()) << text;
}

TEST_F(Tune, ProcessesTuningOneKeyAtOnceKeepEverything) {
  std::string all;
  for (int i = 0; i < 8; ++i) {
    all += "(" +
           line(std::string("tune ") + kProblem + " --trials 5 --strategy random --progress none --seed " +
                std::to_string(i)) +
           " >out" + std::to_string(i) + ".txt 2>&1 </dev/null) & ";
  }
  ASSERT_EQ(std::system((all + "wait").c_str()), 0);
  std::map<std::string, int> runs;
  for (const TuneRecord& r : records()) ++runs[r.run];
  EXPECT_EQ(runs.size(), 8U);
  for (const auto& [name, count] : runs) EXPECT_EQ(count, 6) << name;
}

TEST_F(Tune, ACrashingPlanIsRecordedAndAvoided) {
  const std::string layer = "--input 2,64,10,10 --weight 32,64,3,3 --padding 1 --passes dx ";
  const Outcome planned = run("plan " + layer + "--json");
  ASSERT_EQ(planned.code, 0) << planned.err;
  // Whatever the planner chooses on this machine does not crash.
  const int crashes = Json::parse(planned.out).at("plan").at("register_vectors") == 1 ? 2 : 1;
  std::ofstream(folder_.file("worker.sh"))
      << "while IFS= read -r line; do case $line in *'\"register_vectors\":" << crashes
      << ",'*) kill -SEGV 0 ;; esac; printf '%s\\n' \"$line\"; done"
         " | { "
      << CUBEJIT_CLI << " tune-worker; }\n";
  const Outcome tuned = run("tune " + layer + "--trials 100 --json --progress none --worker 'exec sh worker.sh'");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const Json row = Json::parse(tuned.out);
  EXPECT_GT(row["crashed"], 0);
  EXPECT_GT(row["measured"], 0);
  for (const TuneRecord& r : records())
    EXPECT_EQ(r.status == TrialStatus::kCrashed, fieldOf(r.plan, "register_vectors") == crashes);
}

// Whatever wins has the bits of the planner's own plan: nothing changes but the time.
TEST_F(Tune, BitsAreKeptWhereThatIsAsked) {
  const std::string problem = "--input 2,16,12,12 --weight 32,16,3,3 --padding 1 --passes y";
  const Outcome tuned = run("tune " + problem + " --trials 40 --keep-bits --json --progress none");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  int refused = 0;
  for (const TuneRecord& record : records())
    refused += record.message == "its results have other bits than those of the untuned plan" ? 1 : 0;
  EXPECT_GT(refused, 0);
  EXPECT_THAT(run("tune " + problem + " --keep-bits --dtype f16 --soc ascend910b2 --trials 2").err,
              HasSubstr("--keep-bits compares results"));
}

TEST_F(Tune, WrongFlagsAreAllNamed) {
  const auto refused = [&](const std::string& flags, const char* word) {
    const Outcome o = run("tune " + flags);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_THAT(o.err, AllOf(HasSubstr("error["), HasSubstr(word), HasSubstr("= repro: cubejit tune")));
    EXPECT_TRUE(records().empty());
  };
  const std::string p = std::string(kProblem) + " ";
  refused(p + "--budget 0", "must be more than zero");
  refused(p + "--budget 0s", "must be more than zero");
  refused(p + "--budget -5m", "must be more than zero");
  refused(p + "--budget soon", "is not a time");
  refused(p + "--budget 5fortnights", "unknown unit");
  refused(p + "--trials 0", "--trials: 0 must be a whole number from 1 to");
  refused(p + "--strategy annealing", "there are model, evolve, random, exhaustive");
  refused(p + "--progress loud", "there are auto, plain, json, none");
  refused("--budget 10s", "no problem given");
  refused(p + "--for host-time", "add --soc");
  refused(p + "--soc ascend910b2 --for fun", "'fun'; there are cycles, host-time");
  refused(p + "--soc ascend910b2 --fast", "add --for host-time");
  refused(p + "--soc ascend910b2 --for cycles --fast", "add --for host-time");
  refused(p + "--soc ascend910b2 --for host-time --algorithm direct", "is one of the host's");
  const Outcome both = run("tune " + p + "--budget 0 --strategy annealing");
  EXPECT_THAT(both.err, AllOf(HasSubstr("more than zero"), HasSubstr("annealing")));
}

// The cheapest plan of the model is not the end: a search finds cheaper ones, and everything that plans for the chip uses them.
TEST_F(Tune, EmulatedMachinesAreSearchedByModelledCycles) {
  const std::string chip = "--input 2,48,29,32 --weight 16,48,1,1 --stride 2 --dtype f16 --soc ascend310p3",
                    problem = chip + " --passes dx,dw";
  const Outcome tuned = run("tune " + problem + " --trials 60 --json --progress none --report page.html");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  std::istringstream rows(tuned.out);
  int improved = 0, gradients = 0;
  for (std::string text; std::getline(rows, text); ++gradients) {
    const Json row = Json::parse(text);
    EXPECT_EQ(row["soc"], "ascend310p3");
    EXPECT_EQ(row["plan"]["algorithm"], "cube");
    EXPECT_LE(row["cycles"], row["untuned_cycles"]);
    EXPECT_EQ(row["tuned"].get<bool>(), row["cycles"] < row["untuned_cycles"]);
    const Json planned =
        Json::parse(run("plan " + chip + " --passes " + row["pass"].get<std::string>() + " --json").out);
    EXPECT_EQ(planned["source"], "record") << planned["source_note"];
    EXPECT_EQ(planned["plan"], row["plan"]);
    EXPECT_EQ(planned["predicted_cycles"], row["cycles"]);
    improved += row["tuned"].get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(gradients, 2);
  EXPECT_GE(improved, 1);
  EXPECT_THAT(slurp(folder_.file("page.html")), HasSubstr("\"modelled\":true"));
  EXPECT_EQ(run("verify " + problem).code, 0) << "what is emulated is the record's plan";
  const std::size_t before = records().size();
  ASSERT_EQ(run("tune " + problem + " --trials 10 --resume --progress none").code, 0);
  std::map<std::string, int> tried;
  for (const TuneRecord& r : records()) ++tried[toString(r.key.pass) + planIdentity(r.plan)];
  EXPECT_EQ(tried.size(), records().size()) << "a plan is in the store twice";
  EXPECT_GT(tried.size(), before);
  EXPECT_EQ(run("db verify").code, 0);
  EXPECT_EQ(run("tune " + chip + " --passes db --trials 3").code, 0) << "db has but one plan on a chip";
}

// Emulated runs are timed, --fast and faithful ones apart, and only who asks for host-time gets what was found.
TEST_F(Tune, EmulatedRunsAreTunedForHostTime) {
  const std::string chip =
      "--input 2,48,20,24 --weight 80,48,3,3 --padding 1 --dtype f16 --soc ascend910b2 --threads 1 --passes dx ";
  const Outcome tuned = run("tune " + chip + "--for host-time --trials 12 --json --progress json --report page.html");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const Json row = Json::parse(tuned.out);
  EXPECT_EQ(row["for"], "host-time");
  EXPECT_EQ(row["fast"], false);
  EXPECT_EQ(row["plan"]["algorithm"], "cube");
  EXPECT_GT(row["untuned_ns"], row["untuned_cycles"]) << "no chip is as slow as its emulation";
  EXPECT_THAT(tuned.err, HasSubstr("\"event\":\"trial\""));
  EXPECT_THAT(slurp(folder_.file("page.html")), AllOf(HasSubstr("\"modelled\":false"), HasSubstr("/faithful/")));
  EXPECT_EQ(records().size(), 13U);
  for (const TuneRecord& r : records()) EXPECT_EQ(r.key.machine.find("emulated/ascend910b2/"), 0U);

  const auto sourceOf = [&](const std::string& flags) {
    return Json::parse(run("plan " + chip + flags + " --json").out)["source"].get<std::string>();
  };
  EXPECT_EQ(sourceOf("--for host-time"), "record");
  EXPECT_EQ(sourceOf(""), "model");
  EXPECT_EQ(sourceOf("--for cycles --fast"), "model");
  EXPECT_EQ(sourceOf("--for host-time --fast"), "model");
  const Outcome benched = run("bench " + chip + "--for host-time --json --min-seconds 0 --min-samples 1");
  EXPECT_EQ(Json::parse(benched.out)["plan"], row["plan"]);
  EXPECT_EQ(run("verify " + chip + "--for host-time").code, 0);

  ASSERT_EQ(run("tune " + chip + "--for host-time --fast --trials 3 --progress none").code, 0);
  EXPECT_EQ(sourceOf("--for host-time --fast"), "record");
  ASSERT_EQ(run("tune " + chip + "--trials 3 --progress none").code, 0);
  EXPECT_EQ(sourceOf(""), "record");
  const Outcome fast = run("db show --machine /fast/ --json"), pins = run("db best --machine /faithful/");
  EXPECT_EQ(std::count(fast.out.begin(), fast.out.end(), '\n'), 4);
  EXPECT_EQ(std::count(pins.out.begin(), pins.out.end(), '\n'), 1);
  std::ofstream(folder_.file("pins.jsonl")) << pins.out;
  EXPECT_EQ(sourceOf("--pin pins.jsonl"), "pin") << "a pin is a pin, whatever it was tuned for";
  const Outcome checked = run("db verify");
  EXPECT_EQ(checked.code, 0) << checked.out;
  EXPECT_THAT(checked.err, HasSubstr("21 checked, 0 of other machines"));
}

TEST_F(Tune, HostTimeIsInterruptedAndResumedAsTheHostsTuning) {
  writeSuite(3);
  const std::string chip =
      "tune --suite suite.jsonl --passes dx,dw --dtype f16 --soc ascend910b2 --fast --threads 1"
      " --for host-time --progress none ";
  EXPECT_EQ(interrupted(chip + "--budget 60s", SIGINT, 700), 130);
  EXPECT_THAT(slurp(folder_.file("err.txt")), HasSubstr("every finished trial is stored"));
  const std::size_t before = records().size();
  EXPECT_GT(before, 1U);
  ASSERT_EQ(run(chip + "--trials 4 --resume").code, 0);
  std::map<std::string, int> tried;
  for (const TuneRecord& r : records())
    ++tried[problemIdentity(r.key.problem) + toString(r.key.pass) + planIdentity(r.plan)];
  EXPECT_EQ(tried.size(), records().size()) << "a plan is in the store twice";
  EXPECT_GT(tried.size(), before);
}

TEST_F(Tune, ANewerStoreIsLeftAloneAndRecordsAreKeptBesideIt) {
  ASSERT_EQ(run(std::string("tune ") + kProblem + " --trials 2 --progress none").code, 0);
  std::fstream file(folder_.file("tune.db"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(60);  // user_version in the header of an SQLite file, big endian
  file.write("\0\0\0\x63", 4);
  file.close();
  const std::string before = slurp(folder_.file("tune.db"));
  const Outcome o = run(std::string("tune ") + kProblem + " --trials 2 --progress none");
  EXPECT_EQ(o.code, 5) << o.err;
  EXPECT_THAT(o.err, AllOf(HasSubstr("newer cubejit"), HasSubstr("cubejit db import")));
  EXPECT_EQ(slurp(folder_.file("tune.db")), before);
  EXPECT_EQ(run(std::string("plan ") + kProblem).code, 0);
  for (const auto& entry : fs::directory_iterator(folder_.file(""))) {
    if (entry.path().extension() != ".jsonl") continue;
    EXPECT_EQ(run("db import --db other.db " + entry.path().filename().string()).code, 0);
  }
  EXPECT_EQ(records("other.db").size(), 3U);
}

TEST_F(Tune, AReadOnlyFolderDoesNotStopTheRun) {
  if (geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  fs::create_directories(folder_.file("locked"));
  fs::permissions(folder_.file("locked"), fs::perms::owner_read | fs::perms::owner_exec);
  const Outcome o = run(std::string("tune ") + kProblem + " --trials 2 --db locked/tune.db");
  EXPECT_EQ(o.code, 5);
  EXPECT_THAT(o.err, HasSubstr("cubejit db import"));
}

TEST_F(Tune, AReportIsOnePageThatNoNameBreaks) {
  std::ofstream(folder_.file("suite.jsonl"))
      << R"({"name":"</script><b>x","rank":1,"n":1,"ci":16,"co":16,"input":[1,1,30],"output":[1,1,28],"kernel":[1,1,3]})"
      << "\n";
  const Outcome o = run("tune --suite suite.jsonl --passes dx --trials 6 --report page.html --progress none");
  ASSERT_EQ(o.code, 0) << o.err;
  const std::string page = slurp(folder_.file("page.html"));
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_THAT(page, HasSubstr("layer.adds ? layer.bytes / data.read_gbs : layer.flops / data.peak_gflops"));
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg")) << "nothing is fetched";
  const std::size_t begin = page.find("type=\"application/json\">") + 24, end = page.find("</script>", begin);
  const Json data = Json::parse(page.substr(begin, end - begin));
  EXPECT_EQ(data["layers"][0]["name"], "</script><b>x");
  EXPECT_EQ(data["layers"][0]["trials"].size(), 7U);
  EXPECT_EQ(page.find("regret"), page.rfind("regret")) << "one number, of the gains";
  EXPECT_EQ(run("tune --suite suite.jsonl --trials 1 --passes dx --progress none --report /nonexistent/page.html").code,
            5);
}

TEST_F(Tune, BeforeTheFirstTuningThereAreNoRecordsAndThatIsNoError) {
  for (const std::string command : {"list", "list --json", "show", "best", "export", "verify"}) {
    const Outcome o = run("db " + command);
    EXPECT_EQ(o.code, 0) << command;
    EXPECT_EQ(o.out, "") << command;
    EXPECT_THAT(o.err, AllOf(HasSubstr("no records yet"), HasSubstr("tune.db"))) << command;
  }
  EXPECT_FALSE(fs::exists(folder_.file("tune.db"))) << "looking makes no file";
  EXPECT_EQ(run("db diff other.db").code, 5) << "a file that is named is wanted";
  std::ofstream(folder_.file("other.db"));
  const Outcome none = run("db diff other.db");
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_THAT(none.err, AllOf(HasSubstr("no records yet"), HasSubstr("0 of 0 keys differ")));
  std::ofstream(folder_.file("tune.db"));  // as one that was interrupted before it began leaves it
  for (const std::string command : {"list", "show", "best", "export", "verify"}) {
    const Outcome o = run("db " + command);
    EXPECT_EQ(o.code, 0) << command;
    EXPECT_EQ(o.out, "") << command;
    EXPECT_THAT(o.err, HasSubstr(command == "verify" ? "0 records" : "no records yet")) << command;
  }
  EXPECT_EQ(fs::file_size(folder_.file("tune.db")), 0U);
  EXPECT_EQ(run("db prune --losers").code, 0) << "begins the tables";
  EXPECT_EQ(run("db list").out, "") << "tables without records are none, too";
  std::ofstream(folder_.file("tune.db")) << "no store";
  EXPECT_EQ(run("db list").code, 5) << "a file that is there is read";
}

TEST_F(Tune, RecordsMoveBetweenStores) {
  ASSERT_EQ(run(std::string("tune ") + kProblem + " --trials 8 --progress none").code, 0);
  const Outcome exported = run("db export --jsonl");
  std::ofstream(folder_.file("all.jsonl")) << exported.out << "{\"schema\":\"cubejit.rec";
  EXPECT_EQ(run("db import --db b.db all.jsonl").code, 1) << "a line that was cut off is told";
  EXPECT_EQ(run("db export --db b.db --jsonl").out, exported.out);
  EXPECT_EQ(run("db diff --db b.db tune.db").code, 0);
  const Outcome again = run("db merge --db b.db tune.db");
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("9 records, 0 new"));
  const Outcome list = run("db list --json");
  EXPECT_EQ(Json::parse(list.out)["trials"], 9);
  EXPECT_THAT(run("db show").out, HasSubstr("untuned"));
  const Outcome best = run("db best");
  EXPECT_TRUE(pinFromJson(best.out.substr(0, best.out.find('\n'))).ok());
  EXPECT_EQ(run("db verify").code, 0);
  EXPECT_EQ(run("db prune").code, 2);
  EXPECT_EQ(run("db prune --losers").code, 0);
  EXPECT_LT(records().size(), 9U);
  EXPECT_EQ(run("db list --db none.db").code, 5);
  EXPECT_FALSE(fs::exists(folder_.file("none.db"))) << "looking creates no file";
}

TEST_F(Tune, RecordsOfOthersSayNothingToATerminal) {
  TuneRecord foreign = winnerFor(keyFor(smallConvolution()), 0.5, "\x1b[1m");
  foreign.key.problem.name = "\x1b[31mred\x07";
  foreign.message = "\x1b[2J";
  std::string refused = recordToJson(foreign);
  const std::string from = R"("pass":"dx")";
  ASSERT_NE(refused.find(from), std::string::npos);
  refused.replace(refused.find(from), from.size(), R"("pass":"\u001b[41m")");
  std::ofstream(folder_.file("foreign.jsonl")) << recordToJson(foreign) << "\n" << refused << "\n";
  const Outcome imported = run("db import foreign.jsonl");
  EXPECT_THAT(imported.err, AllOf(HasSubstr("1 records, 1 new"), HasSubstr("left out"), HasSubstr("\\x1b[41m")));
  const Outcome list = run("db list"), show = run("db show"), verified = run("db verify");
  EXPECT_THAT(list.out, HasSubstr("\\x1b[31mred\\x07"));
  EXPECT_THAT(show.out, HasSubstr("\\x1b[2J"));
  for (const std::string& text : {imported.err, list.out, show.out, verified.out})
    EXPECT_EQ(text.find_first_of("\x1b\x07"), std::string::npos) << text;
}

TEST_F(Tune, VerifyFindsWhatIsWrongWithRecords) {
  TuneRecord broken = winnerFor(keyFor(smallConvolution()), 0.5);
  ASSERT_TRUE(setField(broken.plan, "register_vectors", 500));
  ASSERT_TRUE(TuningStore::open(folder_.file("tune.db"), StoreAccess::kReadWrite, nullptr).value()->add(broken).ok());
  const Outcome o = run("db verify");
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.out, HasSubstr("the plan is not legal"));
}

TEST_F(Tune, StrategiesAreReplayedFromRecords) {
  ASSERT_EQ(run(std::string("tune ") + kProblem + " --trials 30 --strategy random --progress none").code, 0);
  const Outcome o = run("tune --simulate tune.db --json");
  ASSERT_EQ(o.code, 0) << o.err;
  std::istringstream lines(o.out);
  int strategies = 0;
  for (std::string text; std::getline(lines, text); ++strategies) {
    const Json row = Json::parse(text);
    EXPECT_GE(row["regret_1"].get<double>(), row["regret_40"].get<double>());
  }
  EXPECT_EQ(strategies, 4);
  std::ofstream(folder_.file("empty.jsonl")) << "";
  EXPECT_EQ(run("tune --simulate empty.jsonl").code, 2);
}

TEST_F(Tune, PinsFixPlans) {
  ASSERT_EQ(run(std::string("plan ") + kProblem + " --pin pins.jsonl").code, 0);
  const Outcome before = run(std::string("plan ") + kProblem + " --pin pins.jsonl --json");
  ASSERT_EQ(run(std::string("tune ") + kProblem + " --trials 20 --progress none").code, 0);
  const Outcome after = run(std::string("plan ") + kProblem + " --pin pins.jsonl --json");
  EXPECT_EQ(Json::parse(after.out)["source"], "pin");
  EXPECT_EQ(Json::parse(after.out)["plan"], Json::parse(before.out)["plan"]);
}

}  // namespace
}  // namespace cubejit
