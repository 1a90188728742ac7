// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cubejit/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "codegen/binary/tools.h"
#include "runtime/dump/folder.h"
#include "runtime/dump/stages.h"
#include "runtime/text/json_problem.h"
#include "tests/support/plan_fields.h"

namespace cubejit {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Dump : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root); }
  void TearDown() override { fs::remove_all(root); }

  static Problem problem() {
    Problem p;
    p.rank = 2;
    p.cin = 16;
    p.cout = 24;
    p.in = p.out = {1, 6, 7};
    p.kernel = {1, 3, 3};
    p.padBefore = p.padAfter = {0, 1, 1};
    return p;
  }
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Result<std::vector<std::string>> dumped(const std::string& stages, IsaLevel isa = IsaLevel::kAvx2,
                                          const std::string& kernels = "") {
    Options options;
    options.isa = isa;
    const Session session(options);
    return dump(session, {problem(), {true, true, true}, {}}, {stages, root.string(), kernels, ""});
  }

  const fs::path root = fs::temp_directory_path() / ("cubejit-dump-test-" + std::to_string(getpid()));
};

TEST_F(Dump, WritesEveryStageOfEveryGradient) {
  for (const IsaLevel isa : {IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    const auto folders = dumped("all", isa);
    ASSERT_TRUE(folders.ok()) << folders.error().message;
    ASSERT_EQ(folders->size(), 3U);
    for (const std::string& folder : *folders) {
      const std::string name = fs::path(folder).filename();
      std::string kernel;
      for (const auto& entry : fs::directory_iterator(folder)) {
        EXPECT_GT(fs::file_size(entry), 0U) << entry;
        const std::string file = entry.path().filename();
        if (file.rfind("k00_", 0) == 0 && file.size() > 4 && file.substr(file.size() - 4) == ".bin")
          kernel = file.substr(0, file.size() - 4);
      }
      ASSERT_FALSE(kernel.empty()) << folder;
      for (const char* end : {".vector.txt", ".ll", ".opt.ll", ".s", ".bin", ".mca.txt"})
        EXPECT_TRUE(fs::exists(fs::path(folder) / (kernel + end))) << end;
      for (const char* file : {"problem.json", "plan.json", "tile.txt", "index.html", "meta.json", "repro.sh"})
        EXPECT_TRUE(fs::exists(fs::path(folder) / file)) << file;
      EXPECT_TRUE(fs::exists(fs::path(folder) / (name + ".o")));
      EXPECT_TRUE(fs::exists(fs::path(folder) / (name + ".h")));
    }
  }
}

TEST_F(Dump, MetaHasTheHashOfEveryFile) {
  const auto folders = dumped("plan,asm,bin");
  ASSERT_TRUE(folders.ok()) << folders.error().message;
  const fs::path folder = folders->front();
  const auto meta = nlohmann::json::parse(read(folder / "meta.json"));
  EXPECT_EQ(meta["schema"], "cubejit.dump/1");
  std::size_t files = 1;  // meta.json itself
  for (const auto& file : meta["files"]) {
    ++files;
    const std::string bytes = read(folder / std::string(file["name"]));
    EXPECT_EQ(file["bytes"], bytes.size());
    EXPECT_EQ(file["sha256"], sha256(bytes)) << file["name"];
  }
  EXPECT_EQ(files, static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {})));
}

TEST_F(Dump, IsTheSameAgain) {
  const auto first = dumped("all");
  ASSERT_TRUE(first.ok());
  std::map<std::string, std::string> before;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) before[entry.path()] = read(entry.path());
  }
  ASSERT_TRUE(dumped("all").ok());
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    EXPECT_EQ(read(entry.path()), before[entry.path()]) << entry;
  }
  EXPECT_EQ(files, before.size());
}

TEST_F(Dump, ReproScriptComparesByteByByte) {
  if (std::string(CUBEJIT_CLI).empty()) GTEST_SKIP() << "no command was built";
  const auto folders = dumped("plan,tile,vector,asm,bin,obj,c-header");
  ASSERT_TRUE(folders.ok());
  const std::string run = "CUBEJIT=" CUBEJIT_CLI " sh " + folders->front() + "/repro.sh > /dev/null 2>&1";
  EXPECT_EQ(std::system(run.c_str()), 0);
  std::ofstream(folders->front() + "/tile.txt", std::ios::app) << "x";
  EXPECT_NE(std::system(run.c_str()), 0) << "a changed file must show";
}

// What a folder says of post-ops is what its program computes: y's, and not the slope, by which a call multiplies dy before.
TEST_F(Dump, PostOpsAreThoseOfTheProgram) {
  Problem p = problem();
  p.postOps = *parsePostOps("bias,relu");
  for (const Pass pass : kPasses) {
    const auto folders = dump(Session(Options()), {p, maskOf(pass), {}}, {"problem,c-header", root.string(), "", ""});
    ASSERT_TRUE(folders.ok()) << folders.error().message;
    const std::string& folder = folders->front();
    const bool said = read(folder + "/problem.json").find("relu") != std::string::npos;
    EXPECT_EQ(said, pass == Pass::kY) << toString(pass);
    EXPECT_EQ(read(folder + "/meta.json").find("relu") != std::string::npos, said) << toString(pass);
  }
}

TEST_F(Dump, KernelsAreFilteredByName) {
  const auto some = dumped("asm", IsaLevel::kAvx2, "pack_w");
  ASSERT_TRUE(some.ok());
  for (const std::string& folder : *some) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".s") continue;
      EXPECT_THAT(entry.path().filename().string(), HasSubstr("pack_w"));
    }
  }
  const auto none = dumped("asm", IsaLevel::kAvx2, "no such kernel");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

TEST_F(Dump, UnknownStagesAreListed) {
  const auto wrong = dumped("plan,asmm,htm");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::kInvalidProblem);
  EXPECT_THAT(wrong.error().message, HasSubstr("'asmm'; the nearest is asm"));
  EXPECT_THAT(wrong.error().message, HasSubstr("'htm'"));
  for (const std::string& stage : dumpStageNames()) EXPECT_THAT(wrong.error().message, HasSubstr(stage));
  EXPECT_EQ(parseDumpStages("all")->size(), dumpStageNames().size());
}

TEST_F(Dump, LlvmCodeIsReadToo) {
  Options options;
  options.isa = IsaLevel::kAvx2;
  options.backend = BackendKind::kLlvm;
  const Session session(options);
  const auto folders =
      dump(session, {problem(), {true, false, false}, {}}, {"asm,obj,mca,html", root.string(), "", ""});
  ASSERT_TRUE(folders.ok()) << folders.error().message;
  std::size_t listings = 0;
  for (const auto& entry : fs::directory_iterator(folders->front())) {
    if (entry.path().extension() != ".s") continue;
    ++listings;
    EXPECT_THAT(read(entry.path()), HasSubstr("ret"));
  }
  EXPECT_GT(listings, 0U);
}

// What a run took is measured where that is asked and possible; without, pages are the same from one time to the next.
TEST_F(Dump, PagesSayWhatWasMeasured) {
  if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  const Session session{Options()};
  DumpRequest what{"html", root.string(), "", ""};
  for (const bool measure : {false, true}) {
    what.measure = measure;
    const auto folders = dump(session, {problem(), {true, false, false}, {}}, what);
    ASSERT_TRUE(folders.ok()) << folders.error().message;
    const std::string page = read(fs::path(folders->front()) / "index.html");
    EXPECT_EQ(page.find("\"measured\":\"measured here: ") != std::string::npos, measure);
  }
  Options other;
  other.isa = IsaLevel::kSve256;
  other.backend = BackendKind::kLlvm;
  const auto folders = dump(Session(other), {problem(), {true, false, false}, {}}, what);
  ASSERT_TRUE(folders.ok()) << folders.error().message;
  EXPECT_EQ(read(fs::path(folders->front()) / "index.html").find("\"measured\":"), std::string::npos);
}

// An object a kernel, and one with the tables: what a C program for the other architecture links.
TEST_F(Dump, EveryStageOfEveryIsaComesFromLlvm) {
  for (const IsaLevel isa : kAllIsaLevels) {
    Options options;
    options.isa = isa;
    options.backend = BackendKind::kLlvm;
    const Session session(options);
    const auto folders = dump(session, {problem(), {true, true, true}, {}}, {"all", root.string(), "", "grad"});
    ASSERT_TRUE(folders.ok()) << toString(isa) << ": " << folders.error().message;
    for (const std::string& folder : *folders) {
      const std::string header = read(fs::path(folder) / "grad.h");
      EXPECT_THAT(header, HasSubstr("grad.o and the k*.o beside it"));
      EXPECT_THAT(read(fs::path(folder) / "grad.o"), HasSubstr("grad_tables"));
      std::size_t kernels = 0;
      for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string stem = entry.path().stem();
        if (entry.path().extension() != ".o" || stem == "grad") continue;
        ++kernels;
        const std::string symbol = "grad_" + stem.substr(0, 3);
        EXPECT_THAT(header, HasSubstr("void " + symbol + "(const grad_args*);"));
        EXPECT_THAT(read(entry.path()), HasSubstr(symbol));
        for (const char* end : {".vector.txt", ".ll", ".opt.ll", ".s", ".bin", ".mca.txt"})
          EXPECT_GT(read(fs::path(folder) / (stem + end)).size(), 0U) << folder << "/" << stem << end;
      }
      EXPECT_GT(kernels, 0U);
      EXPECT_THAT(read(fs::path(folder) / "index.html"), HasSubstr("application/json"));
    }
  }
}

// What a session would run is what is dumped: a pinned plan, too.
TEST_F(Dump, PinsAreFollowed) {
  Options options;
  options.isa = IsaLevel::kAvx2;
  options.algorithm = "direct";
  TilingPlan pinned = Session(options).plan(problem(), Pass::kDx)->plan;
  options.algorithm.clear();
  ASSERT_NE(fieldOf(pinned, "register_w"), 3);
  ASSERT_TRUE(setField(pinned, "register_w", 3));
  ASSERT_TRUE(setField(pinned, "unroll", 1));
  options.pins = (root / "pins").string();
  {
    Session first(options);  // the first compilation under a pin file adds its plan
    ASSERT_TRUE(first.compile(problem(), {true, false, false}).ok());
  }
  const std::string pins = read(root / "pins"), chosen = planToJson(Session(options).plan(problem(), Pass::kDx)->plan);
  const std::size_t at = pins.find(chosen);
  ASSERT_NE(at, std::string::npos) << pins;
  std::ofstream(root / "pins") << pins.substr(0, at) + planToJson(pinned) + pins.substr(at + chosen.size());
  const Session session(options);
  const auto folders = dump(session, {problem(), {true, false, false}, {}}, {"plan", (root / "d").string(), "", ""});
  ASSERT_TRUE(folders.ok()) << folders.error().message;
  EXPECT_EQ(read(fs::path(folders->front()) / "plan.json"), planToJson(pinned) + "\n");
}

TEST_F(Dump, PagesNeedNothingElse) {
  const auto folders = dumped("html", IsaLevel::kAvx512);
  ASSERT_TRUE(folders.ok());
  for (const std::string& folder : *folders) {
    const std::string page = read(fs::path(folder) / "index.html");
    EXPECT_EQ(page.find("{{"), std::string::npos) << "a placeholder is left";
    for (const char* link : {"src=", "href=", "@import", "http:", "https:"}) {
      const std::size_t at = page.find(link);
      if (at == std::string::npos) continue;
      EXPECT_EQ(page.compare(at, 26, "http://www.w3.org/2000/svg"), 0) << link;
    }
    const std::size_t begin = page.find("application/json\">") + 18;
    const auto data = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
    for (const auto& kernel : data["kernels"]) {
      EXPECT_FALSE(kernel["ops"].empty());
      EXPECT_FALSE(kernel["asm"].empty());
      EXPECT_GE(kernel["cpus"].size(), 2U);
      for (const auto& line : kernel["asm"]) EXPECT_LT(line["op"].get<int>(), static_cast<int>(kernel["ops"].size()));
      for (const auto& op : kernel["ops"]) {
        if (op.contains("u")) {
          for (const auto& used : op["u"]) EXPECT_TRUE(kernel["ops"][used.get<std::size_t>()].contains("w"));
        }
      }
    }
  }
}

TEST_F(Dump, FoldersAppearWholeOrNotAtAll) {
  ASSERT_TRUE(writeFolder(root.string(), "a", {{"x", "old"}}).ok());
  // A file name that cannot be: writing fails half-way, the older folder stays.
  EXPECT_FALSE(writeFolder(root.string(), "a", {{"x", "new"}, {"y/z", "?"}}).ok());
  EXPECT_EQ(read(root / "a" / "x"), "old");
  ASSERT_TRUE(writeFolder(root.string(), "a", {{"y", "#!/bin/sh\n"}}).ok());
  EXPECT_FALSE(fs::exists(root / "a" / "x")) << "an older folder is replaced, not mixed with";
  struct stat info{};
  ASSERT_EQ(stat((root / "a" / "y").c_str(), &info), 0);
  EXPECT_NE(info.st_mode & S_IXUSR, 0U);
  EXPECT_EQ(std::distance(fs::directory_iterator(root), {}), 1) << "nothing temporary is left";
}

TEST_F(Dump, WhatIsReplacedGoesButNotWhatItsLinksLeadTo) {
  const fs::path kept = root / "kept";
  fs::create_directories(kept);
  std::ofstream(kept / "file") << "theirs";
  fs::create_directories(root / "a" / "b" / "c");
  for (int i = 0; i < 100; ++i) std::ofstream(root / "a" / "b" / ("a file with a long name " + std::to_string(i))) << i;
  fs::create_directory_symlink(kept, root / "a" / "b" / "link");
  ASSERT_TRUE(writeFolder(root.string(), "a", {{"x", "new"}}).ok());
  EXPECT_EQ(*namesIn((root / "a").string()), std::vector<std::string>{"x"});
  EXPECT_EQ(*namesIn(root.string()), (std::vector<std::string>{"a", "kept"})) << "nothing temporary is left";
  EXPECT_EQ(read(kept / "file"), "theirs");
  fs::remove_all(root / "a");
  fs::create_directory_symlink(kept, root / "a");  // a link in the folder's place is replaced as well
  ASSERT_TRUE(writeFolder(root.string(), "a", {{"x", "new"}}).ok());
  EXPECT_EQ(*namesIn(root.string()), (std::vector<std::string>{"a", "kept"}));
  EXPECT_EQ(*namesIn(kept.string()), std::vector<std::string>{"file"});
  EXPECT_EQ(namesIn((root / "none").string()).error().code, ErrorCode::kIo);
}

// /dev/full fails every write with "no space left"; a folder on it does not exist, so a full disk is played by a limit on file size.
TEST_F(Dump, FullAndReadOnlyDisksLeaveNothing) {
  const std::string command = "(ulimit -f 1; trap '' XFSZ; " CUBEJIT_CLI
                              " dump --input 1,16,6,7 --weight 24,16,3,3 --padding 1 "
                              "--passes dx --isa avx2 --emit asm,html -o " +
                              root.string() + ") > /dev/null 2>&1";
  if (!std::string(CUBEJIT_CLI).empty()) {
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 5);
    EXPECT_TRUE(fs::is_empty(root));
  }
  const Status status = writeFolder("/proc/no-such-place", "a", {{"x", "y"}});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
}

TEST_F(Dump, MissingComponentIsSaid) {
  Options options;
  options.isa = IsaLevel::kAvx2;
  options.llvmComponent = "/no/such/component.so";
  const Session session(options);
  const auto text =
      dump(session, {problem(), {true, false, false}, {}}, {"plan,tile,vector,bin,c-header", root.string(), "", ""});
  EXPECT_TRUE(text.ok()) << text.error().message;
  for (const char* stage : {"asm", "obj", "mca", "html", "ll", "ll.opt"}) {
    const auto missing = dump(session, {problem(), {true, false, false}, {}}, {stage, root.string(), "", ""});
    ASSERT_FALSE(missing.ok()) << stage;
    EXPECT_EQ(missing.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(missing.error().message, HasSubstr(stage));
  }
}

}  // namespace
}  // namespace cubejit
