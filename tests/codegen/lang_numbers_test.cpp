// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are indices in expressions their numbers, wherever loops are; is the first extremum found, whatever the numbers are; and is nothing done
// for extents of 0?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "codegen/lang/empty.h"
#include "codegen/lang/lower.h"
#include "codegen/lang/parse.h"
#include "codegen/tile/interpret_program.h"
#include "tests/support/kernel_computes.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

TEST(KernelNumbers, EveryForm) {
  const char* const kForms[] = {
      // Indices as numbers: whole ones, of tiles, beside sums and in them, alone, and in other types.
      "input X f32 [7, 30]\noutput Y f32 [7, 30]\nindex i in 7\nindex j in 30\nY[i, j] = X[i, j] * j - i / 2\n",
      "input X bf16 [9, 50]\noutput Y f32 [9, 50]\nindex j in 50\nparallel i in 9 by 4\n  let s[i, j] = X[i, j] * i\n"
      "  loop t in 50 by 16\n    Y[i, t] = select(at_most(t, 5 * i), s[i, t] + t, -1)\n",
      "input A f32 [9, 13]\ninput B f32 [13, 30]\noutput C f32 [9, 30]\nindex k in 13\nparallel i in 9 by 4\n"
      "  loop j in 30 by 16\n    C[i, j] = sum[k](A[i, k] * B[k, j]) + j\n",
      "input A f32 [9, 13]\ninput B f32 [13, 30]\noutput C f32 [9, 30]\nindex k in 13\nparallel i in 9 by 4\n"
      "  loop j in 30 by 16\n    C[i, j] = sum[k](A[i, k] * B[k, j] * k) + sum[k](k * B[k, j]) - sum[k](k)\n",
      "output Y i32 [4, 50]\nindex i in 4\nindex j in 50\nY[i, j] = 50 * i + j\n",
      "output Y f16 [50, 4]\nparallel i in 4 by 3\n  loop j in 50 by 13\n    Y[j, i] = j\n",
      // First extrema: along vectors and down them, of two indices, of tiles, of what is computed, of sums.
      "input X f16 [7, 300]\noutput Y i32 [7]\nindex i in 7\nindex j in 300\nY[i] = argmax[j](X[i, j])\n",
      "input X i8 [300, 20]\noutput Y f32 [20]\nindex i in 300\nindex j in 20\nY[j] = argmin[i](X[i, j])\n",
      "input X f32 [3, 4, 50]\noutput Y i32 [3]\nindex i in 3\nindex j in 4\nindex k in 50\nY[i] = argmax[j, k](X[i, "
      "j, k])\n",
      "input X bf16 [9, 7, 20]\noutput Y i32 [4, 3, 20]\nindex c in 20\nindex i in 2\nindex j in 3\nparallel y in 4\n"
      "  loop x in 3\n    Y[y, x, c] = argmax[i, j](X[2 * y + i, 2 * x + j, c])\n",
      "input X i8 [6, 50]\noutput Y i32 [6]\nindex i in 6\nlet most[i] = -inf\nlet first[i] = 0\nloop k in 50 by 16\n"
      "  let here[i] = max[k](X[i, k])\n  first[i] = select(less(most[i], here[i]), argmax[k](X[i, k]), first[i])\n"
      "  most[i] = max(most[i], here[i])\nY[i] = first[i]\n",
      "input X i8 [6, 50]\noutput Y i32 [6]\nindex i in 6\nindex j in 50\nY[i] = argmax[j](abs(X[i, j] - 2 * j)) - 7\n",
      "input A i8 [6, 40]\ninput B i8 [40, 30]\noutput Y i32 [6]\nindex i in 6\nindex j in 30\nindex k in 40\n"
      "Y[i] = argmin[j](sum[k](A[i, k] * B[k, j]))\n",
      // Extents of 0: sums and extrema of nothing, statements for nothing, loops without a tile; what is there is added to.
      "input X f32 [5, 0]\noutput Y f32 [5]\nindex i in 5\nindex j in 0\nY[i] = sum[j](X[i, j]) + 3\n",
      "input A i8 [5, 0]\ninput B i8 [0, 20]\noutput C i32 [5, 20]\nindex i in 5\nindex j in 20\nindex k in 0\nC[i, j] "
      "= sum[k](A[i, k] * B[k, j])\n",
      "input X f32 [5, 0]\noutput Y f32 [5]\noutput Z bf16 [5]\nindex i in 5\nindex j in 0\nindex k in 4\nY[i] = "
      "max[j, k](X[i, j] * k)\nZ[i] = min[k, j](X[i, j] * k)\n",
      "input X f32 [5, 20]\noutput Y f32 [5, 20]\noutput Z f32 [0, 20]\nindex i in 5\nindex j in 20\nY[i, j] = X[i, "
      "j]\n"
      "parallel z in 0 by 4\n  loop k in 20 by 8\n    Z[z, k] = 7\nloop k in 0 by 8\n  Y[i, j] = Y[i, j] * 2\n",
      "input X f32 [2]\noutput Y f32 [0]\nindex i in 0\nindex j in 3\nY[i] = sum[j](X[i + j])\n"};
  unsigned n = 0;
  for (const char* form : kForms) {
    SCOPED_TRACE(form);
    computesWhatItSays(withHead(form), {}, ++n, kFar, true);
    if (HasFailure()) return;
  }
}

// Rows of each sort, on every ISA: the number that is told is right, and the first one.
TEST(KernelNumbers, FirstExtremaOfEqualInfiniteAndNoNumbers) {
  const std::string text = withHead(
      "input X f32 [6, 40]\noutput Y i32 [6]\noutput Z i32 [6]\nindex j in 40\nparallel i in 6 by 4\n"
      "  Y[i] = argmax[j](X[i, j])\n  Z[i] = argmin[j](X[i, j])\n");
  const auto kernel = lang::parse(text, {});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x(std::size_t{6} * 40, 1);
  const auto at = [&](int row, int column) -> float& { return x[static_cast<std::size_t>(40 * row + column)]; };
  at(1, 17) = at(1, 33) = 2, at(1, 38) = at(1, 39) = 0;
  at(2, 0) = nan, at(2, 5) = 7, at(2, 20) = nan, at(2, 21) = 7;
  for (int j = 0; j < 40; ++j) at(3, j) = nan, at(4, j) = j < 3 ? nan : -inf, at(5, j) = j % 2 == 0 ? -0.0F : 0.0F;
  for (const IsaLevel level : kLevels) {
    const auto program = lang::lower(*kernel, isaOf(level));
    ASSERT_TRUE(program.ok()) << program.error().message;
    std::vector<std::int32_t> y(6, -1), z(6, -1);
    ASSERT_TRUE(interpret(*program, {x.data(), y.data(), z.data()}).ok());
    EXPECT_EQ(y, (std::vector<std::int32_t>{0, 17, 5, 40, 3, 0})) << toString(level);
    EXPECT_EQ(z, (std::vector<std::int32_t>{0, 38, 1, 40, 3, 0})) << toString(level);
  }
}

// What stands in a statement twice is summed up once.
TEST(KernelNumbers, EqualReductionsAreMadeOnce) {
  const auto kernel = lang::parse(withHead("input X f32 [6, 40]\noutput Y f32 [6, 40]\nindex i in 6\nindex j in 40\n"
                                           "Y[i, j] = (X[i, j] - sum[j](X[i, j])) / sum[j](X[i, j])\n"),
                                  {});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const auto program = lang::lower(*kernel, isaOf(IsaLevel::kAvx512));
  ASSERT_TRUE(program.ok()) << program.error().message;
  int sums = 0;
  for (const Node& node : program->phases.front().body)
    sums += node.isCall() && node.call.name.find(".lanes") != std::string::npos ? 1 : 0;
  EXPECT_EQ(sums, 1);
}

// Extrema of nothing are infinite, and where nothing is left no instruction is.
TEST(KernelNumbers, ExtentsOfZero) {
  const auto kernel =
      lang::parse(withHead("parameter N = 0\ninput X f32 [N]\noutput S f32 [3]\noutput Y f32 [N]\nindex j in "
                           "N\nS[0] = sum[j](X[j])\nS[1] = min[j](X[j])\nS[2] = max[j](X[j])\n"
                           "parallel i in N by 4\n  Y[i] = X[i] / S[0]\n"),
                  {});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const auto program = lang::lower(*kernel, isaOf(IsaLevel::kAvx2));
  ASSERT_TRUE(program.ok()) << program.error().message;
  std::vector<float> s(3, 7);
  ASSERT_EQ(
      std::count_if(program->buffers.begin(), program->buffers.end(), [](const Buffer& b) { return b.isCallers(); }),
      1);
  ASSERT_TRUE(interpret(*program, {s.data()}).ok());
  EXPECT_EQ(s,
            (std::vector<float>{0, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}));
  for (const KernelFile& file : kernelFiles()) {
    const auto first = lang::parse(file.text, {});
    ASSERT_TRUE(first.ok());
    for (const lang::Parameter& p : first->parameters) {
      if (p.isType || !p.values.empty()) continue;
      SCOPED_TRACE(file.name + " " + p.name + "=0");
      const auto none = lang::parse(file.text, {{p.name, "0"}});
      const auto made = none.ok() ? lang::lower(*none, isaOf(IsaLevel::kAvx2)) : Result<TileProgram>(none.error());
      if (made.ok())
        computesWhatItSays(file.text, {{p.name, "0"}}, 1, kFar, true);
      else  // what is larger than nothing: windows, the last row
        EXPECT_THAT(made.error().message, testing::AnyOf(HasSubstr("0 to 2^31, got -"), HasSubstr("has no numbers"),
                                                         HasSubstr("has no elements"), HasSubstr("quotient")));
    }
  }
}

}  // namespace
}  // namespace cubejit
