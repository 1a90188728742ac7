// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of `cubejit kernel` whether what dump writes is read, computes what it computed, and runs only if it is sound.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "codegen/tile/print.h"
#include "tests/support/cli.h"
#include "tests/support/small_tile_program.h"

namespace cubejit {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class KernelCli : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write("small.tile", print(smallTileProgram(), Detail::kFull));
  }
  std::string text() const { return slurp(folder_ / "small.tile"); }
  void change(const std::string& from, const std::string& to) const {
    std::string changed = text();
    const std::size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write("changed.tile", changed.replace(at, from.size(), to));
  }
};

TEST_F(KernelCli, VerifiesAndPrintsWhatItRead) {
  const Outcome verified = run("kernel small.tile --verify");
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_EQ(verified.out, "");
  EXPECT_THAT(verified.err, HasSubstr("small: sound; 4 buffers, 2 kernels, 1 lists, 2 phases"));
  EXPECT_EQ(run("kernel small.tile --emit tile").out, text());
}

// x is 8 rows of 9 words, of which 8 are packed; each pair of results is the sum of products with 1 to 8, and twice that.
TEST_F(KernelCli, InterpretsFilesByTheirBuffersNames) {
  write("x.npy", npy("(72,)", std::vector<float>(72, 1)));
  write("dx.npy", npy("(80,)", std::vector<float>(80, 0)));
  const Outcome o = run("kernel small.tile --interpret --input x=x.npy --input dx=dx.npy --output dx=out.npy");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, AllOf(HasSubstr("dx: 80 of f32, hash "), HasSubstr("sum 4320, first 8 16 24 32\n")));
  const std::string file = slurp(folder_ / "out.npy");
  float last = 0;
  ASSERT_GT(file.size(), 320U);
  std::memcpy(&last, file.data() + file.size() - 4, 4);
  EXPECT_EQ(last, 128.0F);
  EXPECT_EQ(run("kernel small.tile --interpret --seed 3").out, run("kernel small.tile --interpret --seed 3").out);
  EXPECT_NE(run("kernel small.tile --interpret --seed 3").out, run("kernel small.tile --interpret --seed 4").out);
}

TEST_F(KernelCli, EmitsVectorProgramsThatItReads) {
  const Outcome tile = run("kernel small.tile --emit vector --isa avx2");
  ASSERT_EQ(tile.code, 0) << tile.err;
  const std::size_t second = tile.out.find("cubejit vector", 1);
  ASSERT_NE(second, std::string::npos) << tile.out;
  write("first.vec", tile.out.substr(0, second));
  const Outcome vector = run("kernel first.vec --emit vector,asm");
  ASSERT_EQ(vector.code, 0) << vector.err;
  EXPECT_THAT(vector.out, AllOf(HasSubstr(tile.out.substr(0, second)), HasSubstr("vfmadd231ps")));
}

TEST_F(KernelCli, TimesWhatThisCpuRuns) {
  const Outcome o = run("kernel small.tile --time --isa avx2");
  if (o.code == 3) GTEST_SKIP() << o.err;
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr(" us in the middle of "));
}

TEST_F(KernelCli, NothingRunsThatIsNotSound) {
  change("buffer dx output 320", "buffer dx output 316");
  refused(2, "kernel changed.tile --interpret --time",
          {"changed.tile: tile program small is not sound", "touches bytes"});
  change("src_pitch 36", "src_pitch thirty");
  refused(2, "kernel changed.tile", {"changed.tile: line 16, column 46", "expected a number, got 'thirty'"});
  change("cubejit tile 1", "cubejit tile 2");
  refused(3, "kernel changed.tile", {"the text is cubejit tile 2; this reads 1"});
  write("open.vec", "cubejit vector 1\np for avx2\n  loop s0\n");
  refused(2, "kernel open.vec --verify", {"open.vec: vector program p is not well formed", "loop is never closed"});
}

TEST_F(KernelCli, RefusesWhatItCannotFollow) {
  refused(5, "kernel none.tile", {"none.tile"});
  refused(2, "kernel small.tile --emit llvm", {"unknown stage 'llvm' of --emit; there are tile, vector, asm"});
  refused(2, "kernel small.tile --interpret --input y=x.npy", {"y is no input or output of small"});
  refused(2, "kernel small.tile --interpret --output x=x.npy", {"x is no output of small"});
  refused(2, "kernel small.tile --output dx=x.npy", {"--output written by --interpret"});
  refused(2, "kernel small.tile --interpret --output dx=./small.tile", {"small.tile"});
  write("x.npy", npy("(8,9)", std::vector<float>(72, 1)));
  refused(2, "kernel small.tile --interpret --input x=x.npy",
          {"has shape (8,9,)", "need (72,), that is the elements of x"});
}

// What a dump of a layer says, verified and computed by the program that was read.
TEST_F(KernelCli, DumpsAreRead) {
  ASSERT_EQ(run("dump --input 1,8,6,6 --weight 4,8,3,3 --padding 1 --passes y,dx,dw,db --emit tile,vector -o out").code,
            0);
  int tiles = 0, vectors = 0;
  for (const std::string& file : files()) {
    const bool tile = file.find("tile.txt") != std::string::npos,
               vector = file.find(".vector.txt") != std::string::npos;
    if (!tile && !vector) continue;
    const Outcome o = run("kernel " + file + (tile ? " --interpret" : " --verify"));
    EXPECT_EQ(o.code, 0) << file << "\n" << o.err;
    tiles += tile ? 1 : 0;
    vectors += vector ? 1 : 0;
  }
  EXPECT_EQ(tiles, 4);
  EXPECT_GE(vectors, 4);
}

// Two rows of three, and their sums.
TEST_F(KernelCli, TakesKernelsOfTheLanguage) {
  write("rows.tile",
        "cubejit kernel 1\nkernel rows\nparameter M\nparameter by in 1 2\ninput X f32 [M, 3]\noutput Y f32 [M]\nindex "
        "j in 3\n"
        "parallel i in M by by\n  Y[i] = sum[j](X[i, j]) * 2\n");
  write("x.npy", npy("(6,)", {1, 2, 3, 10, 20, 30}));
  const Outcome o = run("kernel rows.tile --set M=2,by=2 --interpret --input X=x.npy --output Y=y.npy");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.err, AllOf(HasSubstr("M = 2\nby = 2\n"), HasSubstr("rows: sound; ")));
  EXPECT_THAT(o.out, HasSubstr("sum 132, first 12 120\n"));
  EXPECT_EQ(run("kernel rows.tile --set M=2 --time").code, 0);
  EXPECT_THAT(run("kernel rows.tile --set M=2 --emit tile --isa avx2").out, HasSubstr("combine sum"));
  const auto refused = [&](const std::string& flags, const char* told) {
    const Outcome wrong = run("kernel rows.tile " + flags);
    EXPECT_EQ(wrong.code, 2) << wrong.err;
    EXPECT_THAT(wrong.err, HasSubstr(told));
  };
  refused("", "rows.tile: line 3, column 11: M has no value: set it (--set M=N)");
  refused("--set M", "--set M must be NAME=VALUE");
  refused("--set M=2x", "M is 2x; it may be an integer, 2^31 at most");
  refused("--set M=2,M=3", "--set M=3 gives its name a second value");
  refused("--set M=2,by=4", "by is 4; it may be 1, 2");
  // What tuning found is used from then on, and not measured again.
  const Outcome tuned = run("kernel rows.tile --set M=2 --tune --budget 20s --db tune.db");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.out, HasSubstr("; 1 of 2 choices tried, 0 known before"));
  EXPECT_THAT(tuned.err, AllOf(HasSubstr("by=2: "), HasSubstr("(tuned)")));
  EXPECT_THAT(run("kernel rows.tile --set M=2 --tune --db tune.db").out,
              HasSubstr("; 0 of 2 choices tried, 1 known before"));
  EXPECT_THAT(run("kernel rows.tile --set M=2 --verify --db tune.db").err, HasSubstr("(tuned)"));
  refused("--set M=2,by=1 --tune --db tune.db", "rows has no parameter to vary");
  refused("--set M=2 --tune --budget 0s --db tune.db", "--budget");
  EXPECT_THAT(run("kernel small.tile --set M=2").err, HasSubstr("--set is for kernels; programs have no parameters"));
}

TEST_F(KernelCli, ReportsAndListsWhatWasTuned) {
  write("rows.tile",
        "cubejit kernel 1\nkernel rows\nparameter M\nparameter by in 1 2\ninput X f32 [M, 3]\noutput Y f32 [M]\nindex "
        "j in 3\nparallel i in M by by\n  Y[i] = sum[j](X[i, j]) * 2 ; </script>\n");
  const Outcome tuned = run("kernel rows.tile --set M=2 --tune --budget 20s --db tune.db --report page.html");
  if (tuned.code == 3) GTEST_SKIP() << "nothing runs here";
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const std::string page = slurp(folder_ / "page.html");
  const std::string begin = "<script id=\"data\" type=\"application/json\">";
  const std::size_t at = page.find(begin) + begin.size();
  const Json data = Json::parse(page.substr(at, page.find("</script>", at) - at));
  EXPECT_EQ(data["kernel"], "rows");
  EXPECT_EQ(data["set"]["M"], "2");
  EXPECT_EQ(data["choices"], 2);
  EXPECT_EQ(data["tried"], 1);
  ASSERT_EQ(data["trials"].size(), 2U);
  const Json &untuned = data["trials"][0], &other = data["trials"][1];
  EXPECT_EQ(untuned["settings"], "by=1");
  EXPECT_TRUE(untuned["untuned"].get<bool>() && untuned["verified"].get<bool>() && untuned["now"].get<bool>());
  EXPECT_GT(untuned["ns"], 0);
  EXPECT_GE(untuned["spread"], 0);
  EXPECT_EQ(other["settings"], "by=2");
  EXPECT_FALSE(other["untuned"].get<bool>());
  // A second run tries nothing, and its page has what the first one found.
  ASSERT_EQ(run("kernel rows.tile --set M=2 --tune --db tune.db --report again.html").code, 0);
  const std::string again = slurp(folder_ / "again.html");
  EXPECT_THAT(again, AllOf(HasSubstr("\"settings\":\"by=2\""), HasSubstr("\"tried\":0"), HasSubstr("\"now\":false")));
  refused(2, "kernel rows.tile --set M=2 --tune --db tune.db --report tune.db", {"tune.db"});
  refused(2, "kernel rows.tile --set M=2 --report page2.html", {"--report is of --tune"});

  const Outcome list = run("db list --db tune.db"), json = run("db list --db tune.db --json --pass kernel");
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("rows(M=2)                            kernel    1       3     0"));
  const Json line = Json::parse(json.out);
  EXPECT_EQ(line["name"], "rows(M=2)");
  EXPECT_EQ(line["pass"], "kernel");
  EXPECT_EQ(line["trials"], 3) << "the untuned choice of each run, and the other one";
  EXPECT_EQ(run("db list --db tune.db --json --pass dx").out, "");
  EXPECT_EQ(run("db list --db tune.db --json --name columns").out, "");
  EXPECT_THAT(run("db show --db tune.db").out,
              AllOf(HasSubstr("rows(M=2) kernel measured untuned verified"), HasSubstr("\n  by=2\n")));
  const std::string shown = run("db show --db tune.db --json").out;
  EXPECT_EQ(Json::parse(shown.substr(0, shown.find('\n')))["settings"], "by=1");
  EXPECT_THAT(run("db best --db tune.db").err, HasSubstr("no records yet"));
}

TEST_F(KernelCli, SaysWhatEachStatementReaches) {
  write("gemm.tile",
        "cubejit kernel 1\nkernel gemm\ninput A f32 [60, 100]\ninput B f32 [100, 64]\noutput C f32 [60, 64]\n"
        "output D f32 [60, 64]\nindex k in 100\nindex j in 64\nparallel i in 60 by 4\n"
        "  C[i, j] = sum[k](A[i, k] * B[k, j])\n  D[i, j] = A[i, j]\n");
  const Outcome o = run("kernel gemm.tile --time --breakdown");
  if (o.code == 3) GTEST_SKIP() << "nothing runs here";
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out,
              AllOf(HasSubstr("one of 1 thread reaches "), HasSubstr("GB/s  held up by     statement\n"),
                    HasSubstr("walking over loops and addresses between them\n"), HasSubstr("waiting, of 1 threads")));
  const std::size_t sum = o.out.find(" C.sum: k");
  ASSERT_NE(sum, std::string::npos) << o.out;
  const std::string line = o.out.substr(o.out.rfind('\n', sum) + 1, o.out.find('\n', sum) - o.out.rfind('\n', sum) - 1);
  EXPECT_THAT(line, AllOf(HasSubstr(" 15 calls a run of "), HasSubstr("; reads 408.0 KB, writes 15.4 KB")));
  double share = 0, gflops = 0;
  ASSERT_EQ(std::sscanf(line.c_str(), "%lf %% %lf", &share, &gflops), 2) << line;
  EXPECT_GT(share, 0);
  EXPECT_GT(gflops, 0.1);
  const std::size_t copied = o.out.find(" D.copy: k");
  ASSERT_NE(copied, std::string::npos) << o.out;
  EXPECT_THAT(o.out.substr(copied, 90), HasSubstr("reads 15.4 KB, writes 15.4 KB"));
  EXPECT_THAT(run("kernel gemm.tile --breakdown").err, HasSubstr("--breakdown is of --time"));
}

// Tensors that are called as a convolution's are, and as C's words.
class KernelDump : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write("sums.tile",
          "cubejit kernel 1\nkernel sums\nparameter M\nparameter by in 2 1\ninput x f32 [2, M, 20] strides [1, 50, 2]\n"
          "input w f32 [20]\ninput int f32 [M]\noutput dx f32 [M]\noutput m f32 [1]\nindex j in 20\nm[0] = 0.5\n"
          "parallel i in M by by\n  dx[i] = sum[j](x[1, i, j] * w[j]) + int[i] * 3\n");
  }
  std::string dumped(const std::string& flags) const {
    const Outcome o = run("kernel sums.tile --set M=5 " + flags + " --dump out");
    EXPECT_EQ(o.code, 0) << o.err;
    return o.out.substr(0, o.out.find('\n'));
  }
  std::string text(const std::string& file) const { return slurp(folder_ / file); }
};

TEST_F(KernelDump, HasEveryStageAndIsMadeAgain) {
  for (const std::string isa : {"avx2", "avx512", "sve256"}) {
    const std::string folder = dumped("--isa " + isa);
    EXPECT_EQ(folder, "out/sums_M5_by2__" + isa);
    EXPECT_EQ(text(folder + "/kernel.tile"), text("sums.tile"));
    EXPECT_EQ(text(folder + "/parameters.json"), "{\"M\":\"5\",\"by\":\"2\"}\n");
    EXPECT_EQ(text(folder + "/tile.txt"),
              run("kernel " + folder + "/kernel.tile --set M=5,by=2 --emit tile --isa " + isa).out);
    const std::string meta = text(folder + "/meta.json");
    EXPECT_THAT(meta,
                AllOf(HasSubstr("\"kernel\": \"sums\""), HasSubstr("\"parameters\": {\n    \"M\": \"5\""),
                      HasSubstr("cubejit kernel kernel.tile --set M=5,by=2 --isa " + isa + " --emit problem,plan,")));
    for (const char* of : {"\"problem\"", "\"pass\"", "\"plan\"", "\"layout\"", "\"dtype\""})
      EXPECT_THAT(meta, ::testing::Not(HasSubstr(std::string(of) + ":")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / folder / "plan.json"));
    std::string all, listings;
    for (const std::string& file : files()) {
      if (file.find(folder) == std::string::npos || std::filesystem::is_directory(file)) continue;
      all += " " + std::filesystem::path(file).filename().string();
      if (file.rfind(".s") == file.size() - 2) listings += slurp(file);
    }
    for (const char* end : {".vector.txt", ".ll", ".opt.ll", ".s", ".bin", ".mca.txt", ".o", ".h", "index.html"})
      EXPECT_THAT(all, HasSubstr(end));
    EXPECT_THAT(listings, AllOf(HasSubstr(" = x[1, 0"), HasSubstr("w[0.."), HasSubstr("int[0"),
                                HasSubstr("dx[0..1] is written")));
    EXPECT_THAT(text(folder + "/index.html"),
                AllOf(HasSubstr("\"axes\":[\"d0:\",\"i:\",\"j:\",\"\",\"\"]"), HasSubstr("Kernel ${data.kernel}")));
    const std::string again =
        "cd " + folder_.string() + " && CUBEJIT=" + CUBEJIT_CLI + " sh " + folder + "/repro.sh >again 2>err";
    const Outcome o = outcomeOf(again, folder_ / "again", folder_ / "err");
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_THAT(o.out, HasSubstr("same: "));
  }
}

TEST_F(KernelDump, HasTheStagesThatAreAskedFor) {
  const std::string folder = dumped("--emit tile,asm --kernels lanes --symbol a-b --isa avx2");
  EXPECT_TRUE(std::filesystem::exists(folder_ / folder / "kernel.tile"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / folder / "index.html"));
  for (const std::string& file : files()) {
    if (file.rfind(".s") == file.size() - 2) {
      EXPECT_THAT(file, HasSubstr("lanes"));
    }
  }
  EXPECT_THAT(text(folder + "/repro.sh"), HasSubstr("--emit tile,asm --kernels 'lanes' --symbol 'a-b'"));
  refused(2, "kernel sums.tile --set M=5 --emit tiles --dump out", {"unknown stage 'tiles'; the nearest is tile"});
  refused(2, "kernel sums.tile --dump out", {"M has no value"});
  refused(2, "kernel " + folder + "/tile.txt --dump out", {"--dump is for kernels"});
}

TEST_F(KernelDump, IsACObject) {
  write("main.c", R"(#include HEADER
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  float x[300], w[20], more[5], sums[5], half = 0;
  void* workspace = aligned_alloc(64, (G_WORKSPACE_BYTES(1) + 63) / 64 * 64);
  if (!g_supported() || !workspace) return 77;
  for (int i = 0; i < 300; ++i) x[i] = (float)(i % 7);
  for (int j = 0; j < 20; ++j) w[j] = (float)(j % 3);
  for (int i = 0; i < 5; ++i) more[i] = (float)i;
  g_run(OPERANDS, workspace);
  for (int i = 0; i < 5; ++i) {
    float wanted = more[i] * 3;
    for (int j = 0; j < 20; ++j) wanted += x[1 + 50 * i + 2 * j] * w[j];
    if (sums[i] != wanted) return printf("%d: %g, not %g\n", i, sums[i], wanted), 1;
  }
  return half == 0.5f ? 0 : 2;
}
)");
  const std::string folder = dumped("--isa avx2 --emit obj,c-header --symbol g"), header = text(folder + "/g.h");
  EXPECT_THAT(header, AllOf(HasSubstr(" x: f32 [2, 5, 20], strides [1, 50, 2], "), HasSubstr("float* int_"),
                            HasSubstr("cubejit kernel kernel.tile --set M=5,by=2")));
  const std::size_t at = header.find("g_run(") + 6;
  std::string operands = header.substr(at, header.find(", workspace", at) - at);
  for (const auto& [from, to] : {std::pair{"int_", "more"}, {"dx", "sums"}, {"m_", "&half"}}) {
    ASSERT_NE(operands.find(from), std::string::npos) << operands;
    operands.replace(operands.find(from), std::string(from).size(), to);
  }
  const std::string line = "cd " + folder_.string() + " && cc -std=c11 -Wall -Wextra -Werror '-DHEADER=\"" + folder +
                           "/g.h\"' '-DOPERANDS=" + operands + "' main.c " + folder +
                           "/g.o -o program >out.txt 2>err && ./program >out.txt 2>err";
  const Outcome ran = outcomeOf(line, folder_ / "out.txt", folder_ / "err");
  if (ran.code == 77) GTEST_SKIP() << "this CPU lacks AVX2";
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

}  // namespace
}  // namespace cubejit
