// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of `cubejit kernel` whether what dump writes is read, computes what it computed, and runs only if it is sound.
#include "codegen/tile/print.h"
#include "tests/support/cli.h"
#include "tests/support/small_tile_program.h"

namespace cubejit {
namespace {

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
  refused("--set M", "--set M must be NAME=N, N an integer");
  refused("--set M=2x", "--set M=2x must be NAME=N, N an integer");
  refused("--set M=2,M=3", "--set M=3 sets its parameter a second time");
  refused("--set M=2,by=4", "by is 4; it may be 1, 2");
  EXPECT_THAT(run("kernel small.tile --set M=2").err, HasSubstr("--set is for kernels; programs have no parameters"));
}

}  // namespace
}  // namespace cubejit
