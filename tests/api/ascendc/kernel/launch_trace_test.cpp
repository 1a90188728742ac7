// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of a launch's trace: every core's instructions, one single shape after the other, in files that the caller or
// the environment names; and of --fast's launches: the same bits, counts and times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cubejit/cubejit.h"
#include "cubejit/describe_counts.h"
#include "cubejit/machines.h"
#include "runtime/face/environment.h"
#include "tests/support/ascend_dx_kernel.h"
#include "tests/support/most_held.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;
using ascendc::LaunchOptions;
using Json = nlohmann::json;
using ::testing::HasSubstr;

class LaunchTrace : public ::testing::Test {
 protected:
  void SetUp() override {
    clear();
    folder_ = fs::path(::testing::TempDir()) / ("cubejit_launch_trace" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    clear();
    fs::remove_all(folder_);
  }
  static void clear() {
    for (const char* name : {"CUBEJIT_LAUNCH_TRACE", "CUBEJIT_LAUNCH_TIMELINE", "CUBEJIT_LAUNCH_FAST"}) unsetenv(name);
  }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }

  // Block 0 computes both depths with one object, block 1 the second with two; block 2 nothing.
  Result<ascendc::LaunchReport> launch(LaunchOptions options) {
    options.blocks = 3;
    std::fill(s_.gradInput.begin(), s_.gradInput.end(), half(0.0F));
    return ascendc::launch(options, [&] {
      const std::int64_t block = AscendC::GetBlockIdx();
      for (int objects = 0; objects < block % 2 + 1 && block < 2; ++objects) {
        InputGradient<half> g;
        g.Init(&s_.t());
        for (std::uint32_t depth = block == 0 ? 0 : 1; depth < 2; ++depth) {
          g.ctx.isFirstIter_ = true;
          s_.set(g);
          g.SetStartPosition(depth, -1);
          while (g.Iterate()) g.GetTensorC(s_.output());
        }
        g.End();
      }
    });
  }

  SmallInputGradient s_;
  fs::path folder_;
};

TEST_F(LaunchTrace, ShowsEveryCoresSingleShapesOneAfterTheOther) {
  LaunchOptions options;
  options.files = {path("t.json"), path("t.svg")};
  const auto report = launch(options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->cores.size(), 3U);
  EXPECT_EQ(report->eventsDropped, 0);
  EXPECT_GT(report->cycles, 0);
  EXPECT_DOUBLE_EQ(report->microseconds, report->cycles / 1800);
  std::map<std::pair<int, Pipe>, double> ended;  // a pipe does one thing at a time
  std::array<double, 3> last{};
  std::array<std::int64_t, 3> events{};
  for (const TraceEvent& e : report->trace) {
    double& before = ended[{e.core, e.pipe}];
    EXPECT_GE(e.start, before);
    EXPECT_GE(e.end, e.start);
    before = e.end;
    last.at(static_cast<std::size_t>(e.core)) = std::max(last.at(static_cast<std::size_t>(e.core)), e.end);
    ++events.at(static_cast<std::size_t>(e.core));
  }
  for (std::size_t core = 0; core < 2; ++core) {
    EXPECT_DOUBLE_EQ(last[core], report->cores[core].counts.cycles);
    EXPECT_EQ(report->cores[core].counts.tasks, 2);
    EXPECT_EQ(events[core], report->cores[core].counts.instructions);
  }
  EXPECT_EQ(events[2], 0);
  EXPECT_EQ(report->cycles, std::max(last[0], last[1]));

  const Json trace = Json::parse(read(path("t.json")));
  std::size_t shown = 0;
  for (const Json& event : trace.at("traceEvents")) shown += event.at("ph") == "X" ? 1 : 0;
  EXPECT_EQ(shown, report->trace.size());
  EXPECT_THAT(read(path("t.svg")), HasSubstr("ascend910b2: "));
}

// A block of sums is in L0C from its first product until it has left, and no buffer holds more than it has.
TEST_F(LaunchTrace, TellsWhatBuffersHold) {
  for (const char* chip : {"ascend910b2", "ascend910a"}) {
    LaunchOptions options;
    options.soc = chip;
    options.trace = true;
    const auto report = launch(options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    std::vector<TraceEvent> core;
    std::set<double> left;
    for (const TraceEvent& e : report->trace) {
      if (e.core != 0) continue;
      core.push_back(e);
      if (e.pipe == Pipe::kOut) left.insert(e.end);
    }
    std::size_t sums = 0;
    for (const TraceEvent& e : core) {
      if (e.held == 0 || e.buffer != CoreBuffer::kL0c) continue;
      ++sums;
      EXPECT_GT(e.until, e.end);
      EXPECT_EQ(left.count(e.until), 1U);
    }
    EXPECT_EQ(sums, left.size());
    EXPECT_GT(sums, 0U);
    const auto most = mostHeld(core);
    const Machine machine = *machineByName(chip);
    for (std::size_t b = 0; b < kCoreBuffers; ++b) {
      EXPECT_LE(most.at(b), capacityOf(machine.buffers, static_cast<CoreBuffer>(b)));
      EXPECT_LE(most.at(b), report->cores[0].counts.highWater.at(b));
      EXPECT_EQ(most.at(b) > 0, report->cores[0].counts.highWater.at(b) > 0);
    }
  }
}

TEST_F(LaunchTrace, TheEnvironmentNamesFilesThatLaunchesNumber) {
  setenv("CUBEJIT_LAUNCH_TRACE", path("all.trace.json").c_str(), 1);
  const auto first = launch({}), second = launch({});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_GT(first->trace.size(), 0U);
  const std::string one = read(path("all.trace.json")), two = read(path("all.trace.2.json"));
  EXPECT_TRUE(Json::accept(one));
  EXPECT_EQ(one, two);
  LaunchOptions options;
  options.files.trace = path("named.json");
  ASSERT_TRUE(launch(options).ok());  // what the caller says comes first
  EXPECT_FALSE(fs::exists(path("all.trace.3.json")));
  EXPECT_EQ(read(path("named.json")), one);
  setenv("CUBEJIT_LAUNCH_FAST", "yes", 1);
  EXPECT_THAT(launch(options).error().message, HasSubstr("CUBEJIT_LAUNCH_FAST: 'yes' must be 0 or 1"));
  setenv("CUBEJIT_LAUNCH_FAST", "1", 1);
  EXPECT_TRUE(readEnvironment()->launch.fast);
}

TEST_F(LaunchTrace, KeepsNoMoreThanAsked) {
  LaunchOptions options;
  options.trace = true;
  options.mostEvents = 30;  // ten a core
  options.files.timeline = path("t.html");
  const auto report = launch(options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->trace.size(), 20U);
  EXPECT_GT(report->eventsDropped, 0);
  EXPECT_THAT(read(path("t.html")), HasSubstr(",\"traced\":20,\"dropped\":" + std::to_string(report->eventsDropped)));
  EXPECT_TRUE(launch({})->trace.empty());
  options.mostEvents = -1;
  EXPECT_THAT(launch(options).error().message, HasSubstr("mostEvents = -1 must not be negative"));
  options.mostEvents = 1;
  options.files.trace = path("no/folder.json");
  const auto unwritten = launch(options);
  ASSERT_FALSE(unwritten.ok());
  EXPECT_EQ(unwritten.error().code, ErrorCode::kIo);
}

// Faulty kernels are looked at most.
TEST_F(LaunchTrace, IsWrittenForFaultyKernelsAsWell) {
  LaunchOptions options;
  options.files.trace = path("faulty.json");
  options.blocks = 1;
  const auto report = ascendc::launch(options, [&] {
    InputGradient<half> g;
    s_.prepare(g);
    g.Iterate();
  });
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(read(path("faulty.json")), HasSubstr("mmad"));
}

TEST_F(LaunchTrace, FastLaunchesLeaveTheSameBitsCountsAndTimes) {
  for (half& h : s_.weight) h = half(static_cast<float>(h) * 0.37F);  // sums that are rounded
  LaunchOptions options;
  options.trace = true;
  const auto faithful = launch(options);
  const std::vector<half> bits = s_.gradInput;
  options.fast = true;
  const auto fast = launch(options);
  ASSERT_TRUE(faithful.ok() && fast.ok());
  ASSERT_EQ(faithful->trace.size(), fast->trace.size());
  for (std::size_t i = 0; i < bits.size(); ++i) ASSERT_EQ(bits[i].bits(), s_.gradInput[i].bits()) << i;
  for (std::size_t core = 0; core < 3; ++core) {
    const CoreCounts &a = faithful->cores[core].counts, &b = fast->cores[core].counts;
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_EQ(a.cubeSteps, b.cubeSteps);
    EXPECT_EQ(a.cycles, b.cycles);
    EXPECT_EQ(a.highWater, b.highWater);
  }
}

// Single shapes' programs are told to who watches, as a session's are.
TEST_F(LaunchTrace, ProfilersHearOfKernels) {
  SmallInputGradient s;
  s.t().baseM = 32;  // a program that no other test has
  const std::string map = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  fs::remove(map);
  setenv("CUBEJIT_JIT_PROFILE", "perfmap", 1);
  LaunchOptions options;
  for (int launch = 0; launch < 2; ++launch) {
    const auto report = s.launch(options);
    ASSERT_TRUE(report.ok()) << report.error().message;
  }
  unsetenv("CUBEJIT_JIT_PROFILE");
  std::ifstream file(map);
  std::stringstream text;
  text << file.rdbuf();
  const std::string lines = text.str();
  const std::size_t kernel = lines.find("_ascend910b2_d0_at_m0k0n0_of_"), mmad = lines.find("_mmad_");
  EXPECT_NE(kernel, std::string::npos);
  EXPECT_NE(mmad, std::string::npos);
  EXPECT_EQ(lines.find(lines.substr(0, lines.find('\n')), 1), std::string::npos) << "told once";
  fs::remove(map);
}

}  // namespace
}  // namespace cubejit
