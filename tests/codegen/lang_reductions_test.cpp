// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of sums, minima and maxima of elements down columns: do they pass over NaN, and are they kept in registers? Of sums along rows of bf16: are
// their products made in pairs?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "codegen/lang/lower.h"
#include "codegen/lang/parse.h"
#include "codegen/tile/interpret_program.h"
#include "tests/support/kernel_computes.h"

namespace cubejit {
namespace {

TileProgram programOf(const std::string& lines, IsaLevel level) {
  const auto kernel = lang::parse("cubejit kernel 1\nkernel test\n" + lines, {});
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  auto program = lang::lower(*kernel, isaOf(level));
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(program).value();
}

// Wherever a NaN comes, and where there is nothing else.
TEST(Reductions, MinimaAndMaximaPassOverNaN) {
  constexpr std::size_t kRows = 7, kColumns = 41;
  std::vector<float> x(kRows * kColumns), most(kColumns, -INFINITY), least(kColumns, 0.25F);
  std::mt19937 random(3);
  for (std::size_t at = 0; at < x.size(); ++at) {
    const float known[] = {NAN, NAN, INFINITY, -INFINITY, static_cast<float>(random() % 100) / 100};
    x[at] = at % kColumns == 8 ? NAN : known[random() % 5];
    most[at % kColumns] = std::fmax(most[at % kColumns], x[at]);
    least[at % kColumns] = std::fmin(least[at % kColumns], x[at]);
  }
  for (const IsaLevel level : {IsaLevel::kNeon, IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    const TileProgram program = programOf(
        "input X f32 [7, 41]\noutput Y f32 [41]\noutput Z f32 [41]\nindex i in 7\nindex j in 41\n"
        "Y[j] = max[i](X[i, j])\nZ[j] = 0.25\nloop k in 7 by 3\n  Z[j] = min(Z[j], min[k](X[k, j]))\n",
        level);
    std::vector<float> y(kColumns), z(kColumns);
    ASSERT_TRUE(interpret(program, {x.data(), y.data(), z.data()}).ok());
    EXPECT_EQ(y, most) << toString(level);
    EXPECT_EQ(z, least) << toString(level);
  }
}

TEST(Reductions, GoOnWhereTheyAre) {
  for (const std::string value : {"max[k](X[k, i, j])", "min(Y[i, j], min[k](X[k, i, j]))", "sum[k](X[k, i, j])",
                                  "Y[i, j] + sum[k](X[k, i, j])"}) {
    const TileProgram program = programOf(
        "input X f32 [20, 9, 50]\noutput Y f32 [9, 50]\nindex j in 50\nindex i in 9\nY[i, j] = 0\n"
        "loop k in 20 by 8\n  Y[i, j] = " +
            value + "\n",
        IsaLevel::kAvx512);
    EXPECT_EQ(program.buffers.size(), 2U) << value;
    std::size_t maps = 0;
    for (const Kernel& k : program.kernels) maps += std::holds_alternative<Map>(k) ? 1 : 0;
    EXPECT_EQ(maps, 1U) << value << ": what is there before";
  }
}

int dotsOf(const TileProgram& program) {
  int dots = 0;
  for (const Kernel& k : program.kernels) {
    const auto* map = std::get_if<Map>(&k);
    if (map != nullptr && !map->f.steps.empty() && map->f.steps.front().op == ExpressionOp::kDot) ++dots;
  }
  return dots;
}

TEST(Reductions, RowsOfBf16AreMultipliedInPairs) {
  struct Form {
    const char* lines;
    int dots;
  };
  const std::string sizes = "index i in 6\nindex k in 50\nindex l in 37\n";
  const Form forms[] = {
      {"input A bf16 [6, 50]\ninput b bf16 [50]\noutput Y f32 [6]\nY[i] = sum[k](A[i, k] * b[k])\n", 1},
      {"input A bf16 [6, 53] strides [57, 1]\ninput B bf16 [6, 50]\noutput Y bf16 [6]\n"
       "Y[i] = sum[k](A[i, k + 3] * B[i, k]) + 1\n",
       1},
      {"input A bf16 [6, 50]\noutput Y f32 [6]\nY[i] = sum[k](A[i, k] * A[i, k])\n", 1},
      // In blocks; those of 8 and 2 are kernels of their own.
      {"input A bf16 [6, 50]\ninput b bf16 [50]\noutput Y f32 [6]\nY[i] = 0\n"
       "loop q in 50 by 8\n  Y[i] = Y[i] + sum[q](A[i, q] * b[q])\n",
       2},
      // In blocks of blocks, of which all are even, or the last is not.
      {"input A bf16 [6, 50]\ninput b bf16 [50]\noutput Y f32 [6]\nY[i] = 0\n"
       "loop J in 50 by 8\n  loop j in J by 4\n    Y[i] = Y[i] + sum[j](A[i, j] * b[j])\n",
       2},
      {"input A bf16 [6, 37]\ninput b bf16 [37]\noutput Y f32 [6]\nY[i] = 0\n"
       "loop J in 37 by 8\n  loop j in J by 4\n    Y[i] = Y[i] + sum[j](A[i, j] * b[j])\n",
       0},
      // A copy keeps its type.
      {"input A bf16 [6, 50]\ninput B bf16 [50, 6]\noutput Y f32 [6]\nlet turned[i, k] = B[k, i]\n"
       "Y[i] = sum[k](A[i, k] * turned[i, k])\n",
       1},
      // One is left; one has another type, or lies otherwise, or is no element.
      {"input A bf16 [6, 37]\ninput b bf16 [37]\noutput Y f32 [6]\nY[i] = sum[l](A[i, l] * b[l])\n", 0},
      {"input A bf16 [6, 50]\ninput b bf16 [50]\noutput Y f32 [6]\nY[i] = 0\n"
       "loop q in 50 by 7\n  Y[i] = Y[i] + sum[q](A[i, q] * b[q])\n",
       0},
      {"input A bf16 [6, 50]\ninput b f16 [50]\noutput Y f32 [6]\nY[i] = sum[k](A[i, k] * b[k])\n", 0},
      {"input A bf16 [6, 50]\ninput b bf16 [50] strides [0]\noutput Y f32 [6]\nY[i] = sum[k](A[i, k] * b[k])\n", 0},
      {"input A bf16 [6, 50]\noutput Y f32 [6]\nY[i] = sum[k](A[i, k] * 2)\n", 0},
      {"input A bf16 [6, 50]\ninput B bf16 [6, 50]\noutput Y f32 [6]\nY[i] = max[k](A[i, k] * B[i, k])\n", 0},
      {"input A bf16 [6, 50]\ninput B bf16 [6, 50]\noutput Y f32 [6]\nY[i] = sum[k](A[i, k] + B[i, k])\n", 0},
  };
  for (const auto& [lines, dots] : forms) {
    SCOPED_TRACE(lines);
    EXPECT_EQ(dotsOf(programOf(sizes + lines, IsaLevel::kAvx512Bf16)), dots);
    EXPECT_EQ(dotsOf(programOf(sizes + lines, IsaLevel::kAvx512)), 0);
    computesWhatItSays(withHead(sizes + lines), {}, 1, kFar, true);
  }
}

}  // namespace
}  // namespace cubejit
