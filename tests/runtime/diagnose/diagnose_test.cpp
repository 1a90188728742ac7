// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "cubejit/cubejit.hpp"
#include "runtime/diagnose/follow.h"
#include "runtime/diagnose/perf_map.h"
#include "runtime/diagnose/report.h"
#include "runtime/diagnose/verbose.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string contentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Finished {
  int status = -1;
  std::string output;
};
Finished run(const std::string& command) {
  Finished f;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) f.output.append(buffer.data(), n);
  f.status = WEXITSTATUS(pclose(pipe));
  return f;
}

class Diagnose : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root); }
  void TearDown() override { fs::remove_all(root); }
  static Problem problem() {
    Problem p;
    p.rank = 2;
    p.cin = p.cout = 16;
    p.in = p.out = {1, 8, 8};
    p.kernel = {1, 3, 3};
    p.padBefore = p.padAfter = {0, 1, 1};
    return p;
  }
  // A command that runs the data gradient of problem(), with these variables set.
  std::string verify(const std::string& variables) const {
    return variables + " " CUBEJIT_CLI
                       " verify --input 1,16,8,8 --weight 16,16,3,3 --padding 1 --passes dx --threads 1";
  }
  const fs::path root = fs::temp_directory_path() / ("cubejit-diagnose-test-" + std::to_string(getpid()));
};

TEST_F(Diagnose, EventsAreOneLineWithStableFields) {
  Options options;
  options.diagnostics.verbose = *parseVerboseTopics("all");
  options.diagnostics.verboseFile = (root / "log").string();
  Session session(options);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(session.compile(problem(), {true, false, false}).ok());
  std::istringstream lines(contentOf(root / "log"));
  std::vector<std::string> topics;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(line.rfind("cubejit ", 0), 0U) << line;
    topics.push_back(line.substr(8, line.find(' ', 8) - 8));
    if (topics.back() == "plan") {
      for (const char* field : {" program=dx_f32_", " pass=dx", " source=planner", " algorithm=", " block=", " cycles=",
                                " bound=", " legal=", " refused=", " why=\"fewest predicted cycles of "})
        EXPECT_THAT(line, HasSubstr(field));
    }
    if (topics.back() == "dispatch") {
      for (const char* field :
           {" isa=", " isa_why=\"best this CPU", " backend=xbyak", " backend_why=default", " kernels="})
        EXPECT_THAT(line, HasSubstr(field));
    }
  }
  EXPECT_THAT(topics, testing::ElementsAre("cache", "plan", "dispatch", "profile", "cache"));
}

TEST_F(Diagnose, TheLogSaysWhereAPlanCameFrom) {
  Options options;
  options.diagnostics.verbose = *parseVerboseTopics("plan");
  options.diagnostics.verboseFile = (root / "log").string();
  options.pins = (root / "pins").string();
  for (int i = 0; i < 2; ++i) {
    Session session(options);  // the first one adds its plan to the pins, the second follows it
    ASSERT_TRUE(session.compile(problem(), {true, false, false}).ok());
  }
  Session session(options);
  const TilingPlan plan = session.plan(problem(), Pass::kDx)->plan;
  ASSERT_TRUE(session.compile(CompileRequest{problem(), {true, false, false}, {plan}}).ok());
  std::istringstream lines(contentOf(root / "log"));
  std::string first, second, third;
  ASSERT_TRUE(std::getline(lines, first) && std::getline(lines, second) && std::getline(lines, third));
  EXPECT_THAT(second, HasSubstr(" source=pin "));
  EXPECT_THAT(second, HasSubstr(" why=\"pinned in " + options.pins + "\""));
  EXPECT_THAT(third, HasSubstr(" source=caller "));
  const auto cycles = [](const std::string& line) { return line.substr(line.find(" cycles=")); };
  EXPECT_EQ(cycles(second).substr(0, cycles(second).find(' ', 1)), cycles(third).substr(0, cycles(third).find(' ', 1)));
  EXPECT_THAT(third, testing::Not(HasSubstr(" cycles=0 ")));
}

TEST_F(Diagnose, FilterAndTopicsSelect) {
  Options options;
  options.diagnostics.verbose = *parseVerboseTopics("dispatch");
  options.diagnostics.verboseFile = (root / "log").string();
  options.diagnostics.verboseFilter = "dw_*";
  Session session(options);
  ASSERT_TRUE(session.compile(problem(), {true, true, false}).ok());
  const std::string log = contentOf(root / "log");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1);
  EXPECT_THAT(log, HasSubstr("program=dw_"));
}

TEST_F(Diagnose, NothingIsPrintedOtherwise) {
  if (std::string(CUBEJIT_CLI).empty()) GTEST_SKIP() << "no command was built";
  const Finished quiet = run(verify(""));
  EXPECT_EQ(quiet.status, 0);
  EXPECT_THAT(quiet.output, testing::Not(HasSubstr("cubejit ")));
  const Finished loud = run(verify("CUBEJIT_VERBOSE=plan,profile"));
  EXPECT_THAT(loud.output, HasSubstr("cubejit plan program="));
  EXPECT_THAT(loud.output, HasSubstr("event=run us="));
  EXPECT_THAT(loud.output, testing::Not(HasSubstr("cubejit dispatch")));
}

TEST_F(Diagnose, WordsThatDoNotExistAreListed) {
  const auto topics = parseVerboseTopics("plan,dispach");
  ASSERT_FALSE(topics.ok());
  EXPECT_THAT(topics.error().message,
              HasSubstr("'dispach'; the nearest is dispatch; there are plan, dispatch, cache, profile"));
  const auto profile = parseJitProfile("perf");
  ASSERT_FALSE(profile.ok());
  EXPECT_THAT(profile.error().message, HasSubstr("perfmap, jitdump, gdb, vtune"));
  if (std::string(CUBEJIT_CLI).empty()) return;
  for (const char* wrong : {"CUBEJIT_DUMP=asmm", "CUBEJIT_VERBOSE=plans", "CUBEJIT_JIT_PROFILE=perf"}) {
    const Finished f = run(verify(wrong));
    EXPECT_EQ(f.status, 2) << wrong << ": " << f.output;
    EXPECT_THAT(f.output, HasSubstr("there are")) << wrong;
  }
}

TEST_F(Diagnose, RunningProgramsDumpWhatTheyCompile) {
  if (std::string(CUBEJIT_CLI).empty()) GTEST_SKIP() << "no command was built";
  const Finished f =
      run(verify("CUBEJIT_DUMP=plan,asm CUBEJIT_DUMP_FILTER=dx_ CUBEJIT_DUMP_DIR=" + (root / "d").string()));
  EXPECT_EQ(f.status, 0) << f.output;
  std::size_t listings = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".s") ++listings;
  }
  EXPECT_GT(listings, 0U);
}

TEST_F(Diagnose, PerfMapNamesKernels) {
  Options options;
  options.diagnostics.jitProfile.perfMap = true;
  Session session(options);
  const auto compiled = session.compile(problem(), {true, false, false});
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  const fs::path map = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  const std::string text = contentOf(map);
  fs::remove(map);
  for (const KernelView& kernel : (*compiled)->kernels()) {
    char start[32];
    std::snprintf(start, sizeof start, "%zx ", reinterpret_cast<std::size_t>(kernel.entry));
    EXPECT_THAT(text, HasSubstr(start));
    EXPECT_THAT(text, HasSubstr(kernel.name + "\n"));
  }
}

// The format of jitdump files: tools/perf/Documentation/jitdump-specification.txt of Linux.
TEST_F(Diagnose, JitDumpParses) {
  if (std::string(CUBEJIT_CLI).empty()) GTEST_SKIP() << "no command was built";
  const Finished f =
      run(verify("JITDUMPDIR=" + root.string() + " CUBEJIT_JIT_DIR=" + root.string() + " CUBEJIT_JIT_PROFILE=jitdump"));
  ASSERT_EQ(f.status, 0) << f.output;
  fs::path dump;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".dump") dump = entry.path();
  }
  ASSERT_FALSE(dump.empty());
  const std::string bytes = contentOf(dump);
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  };
  const auto wide = [&](std::size_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, 8);
    return value;
  };
  ASSERT_GT(bytes.size(), 40U);
  EXPECT_EQ(word(0), 0x4A695444U);
  EXPECT_EQ(word(12), 62U) << "EM_X86_64";
  EXPECT_EQ(wide(32), 0U) << "perf refuses a file with flags it does not know";
  std::size_t loads = 0, lines = 0, at = word(8);
  while (at + 16 <= bytes.size()) {
    const std::uint32_t id = word(at), size = word(at + 4);
    ASSERT_GE(size, 16U);
    ASSERT_LE(at + size, bytes.size());
    if (id == 0) {
      ++loads;
      const std::string name(bytes.data() + at + 16 + 40);
      EXPECT_THAT(name, HasSubstr("__k0"));
      const std::uint64_t codeSize = wide(at + 16 + 24);
      EXPECT_EQ(size, 16 + 40 + name.size() + 1 + codeSize);
      EXPECT_EQ(bytes.compare(at + 16 + 40 + name.size() + 1, 4, "\xf3\x0f\x1e\xfa"), 0) << "endbr64";
    } else if (id == 2) {
      ++lines;
      const std::uint64_t entries = wide(at + 24);
      std::size_t entry = at + 32;
      for (std::uint64_t i = 0; i < entries; ++i) {
        const std::string file(bytes.data() + entry + 16);
        if (i == 0) {
          EXPECT_TRUE(fs::exists(file)) << file;
        }
        EXPECT_GT(word(entry + 8), 0U);
        entry += 16 + file.size() + 1;
      }
      EXPECT_EQ(entry, at + size);
    }
    at += size;
  }
  EXPECT_GT(loads, 0U);
  EXPECT_EQ(lines, loads);
}

class DiagnoseWithGdb : public Diagnose, public testing::WithParamInterface<BackendKind> {};
INSTANTIATE_TEST_SUITE_P(Backends, DiagnoseWithGdb, testing::Values(BackendKind::kXbyak, BackendKind::kLlvm),
                         [](const auto& info) { return std::string(toString(info.param)); });

TEST_P(DiagnoseWithGdb, StopsInAKernelShowsTheListingAndUnwinds) {
  if (std::string(CUBEJIT_CLI).empty()) GTEST_SKIP() << "no command was built";
  if (std::system("gdb --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "gdb is not installed";
  // The same problem compiled here tells what the kernel is called.
  Options options;
  options.backend = GetParam();
  Session session(options);
  const auto compiled = session.compile(problem(), {true, false, false});
  ASSERT_TRUE(compiled.ok());
  const Executable::State& state = (*compiled)->state();
  const Machine machine = session.machine();
  std::size_t contract = 0;
  while (!std::holds_alternative<Contract>(state.parts[0]->tile.kernels[contract])) ++contract;
  const std::string symbol = state.parts[0]->tile.name + "__" + toString(machine.isa.level) + "__k0" +
                             std::to_string(contract) + "_" + state.parts[0]->vectors[contract].name;
  std::ofstream(root / "script")
      << "set pagination off\nset confirm off\nset debuginfod enabled off\nset breakpoint pending on\nbreak " << symbol
      << "\nrun\nbt\nstepi 80\ninfo line *$pc\nlist\nbt\nkill\nquit\n";
  const Finished f = run("CUBEJIT_JIT_PROFILE=gdb CUBEJIT_JIT_DIR=" + root.string() + " timeout 60 gdb -q -batch -x " +
                         (root / "script").string() + " --args" + verify("") + " --backend " + toString(GetParam()));
  if (f.output.find("ptrace") != std::string::npos) GTEST_SKIP() << "this system forbids debugging: " << f.output;
  EXPECT_THAT(f.output, HasSubstr("Breakpoint 1, " + symbol));
  EXPECT_THAT(f.output, HasSubstr("endbr64")) << "the listing's line";
  EXPECT_THAT(f.output, HasSubstr("Line "));
  EXPECT_THAT(f.output, testing::AnyOf(HasSubstr("dx["), HasSubstr("dy["), HasSubstr("= w[")))
      << "what the code there reads";
  // GDB leaves out a frame's address where the builder's debugging information says that a line begins there.
  const std::regex main("\\n#[0-9]+ +(0x[0-9a-f]+ in )?main ");
  EXPECT_EQ(std::distance(std::sregex_iterator(f.output.begin(), f.output.end(), main), std::sregex_iterator()), 2)
      << "both backtraces reach main\n"
      << f.output;
  EXPECT_THAT(f.output, HasSubstr("cubejit::Executable::run"));
  EXPECT_THAT(f.output, testing::Not(HasSubstr(" in ?? ()"))) << "no frame is guessed";
}

TEST_F(Diagnose, VtuneSaysSoWhereItIsMissing) {
  Options options;
  options.diagnostics.jitProfile.vtune = true;
  options.diagnostics.jitDirectory = root.string();
  Session session(options);
  const auto compiled = session.compile(problem(), {true, false, false});
  if (compiled.ok()) GTEST_SKIP() << "this LLVM knows VTune";
  EXPECT_EQ(compiled.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(compiled.error().message, HasSubstr("VTune"));
}

TEST_F(Diagnose, OptionsGoBeforeTheEnvironment) {
  ASSERT_EQ(setenv("CUBEJIT_VERBOSE", "plan", 1), 0);
  ASSERT_EQ(setenv("CUBEJIT_JIT_PROFILE", "perfmap", 1), 0);
  Diagnostics given;
  given.verbose.cache = true;
  const auto merged = diagnosticsOf(given);
  unsetenv("CUBEJIT_VERBOSE");
  unsetenv("CUBEJIT_JIT_PROFILE");
  ASSERT_TRUE(merged.ok());
  EXPECT_TRUE(merged->verbose.cache);
  EXPECT_FALSE(merged->verbose.plan);
  EXPECT_TRUE(merged->jitProfile.perfMap);
}

}  // namespace
}  // namespace cubejit
