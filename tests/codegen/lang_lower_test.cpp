// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does the program of a kernel compute what its text says, for every kernel of kernels/, each of its parameters' values, odd sizes and
// vectors of 4, 8 and 16 lanes?
#include "codegen/lang/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "codegen/lang/parse.h"
#include "codegen/tile/interpret_program.h"
#include "tests/support/kernel_operands.h"
#include "tests/support/random_kernel.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

constexpr IsaLevel kLevels[] = {IsaLevel::kNeon, IsaLevel::kAvx2, IsaLevel::kAvx512};

// Relative to the greatest result. Functions are right to a few units; a sum of numbers of both signs is far less than its terms.
constexpr double kFar = 1e-5;

void computesWhatItSays(const std::string& text, const std::map<std::string, std::int64_t>& settings, unsigned seed,
                        double far = kFar, bool everywhere = false) {
  const auto kernel = lang::parse(text, settings);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  for (const IsaLevel level : kLevels) {
    SCOPED_TRACE(toString(level));
    const auto program = lang::lower(*kernel, isaOf(level));
    if (!program.ok()) {
      EXPECT_THAT(program.error().message, HasSubstr("registers")) << text;
      EXPECT_FALSE(everywhere || level == IsaLevel::kAvx512) << program.error().message;
      continue;
    }
    KernelOperands operands(*kernel, *program, seed);
    const Status ran = interpret(*program, operands.addresses());
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_LE(operands.distance(), far);
  }
}

std::string withHead(const std::string& lines) { return "cubejit kernel 1\nkernel test\n" + lines; }

TEST(KernelLanguage, KernelsComputeWhatTheySay) {
  std::mt19937 random(5);
  const std::vector<KernelFile> files = kernelFiles();
  EXPECT_GE(files.size(), 10U);
  for (const KernelFile& file : files) {
    const auto first = lang::parse(file.text, {});
    ASSERT_TRUE(first.ok()) << file.name << ": " << first.error().message;
    for (int n = 0; n < 6 && !testing::Test::HasFailure(); ++n) {
      std::map<std::string, std::int64_t> settings;
      if (n > 0) settings = otherSettings(*first, random);
      std::string told = file.name;
      for (const auto& [name, value] : settings) told += " " + name + "=" + std::to_string(value);
      SCOPED_TRACE(told);
      computesWhatItSays(file.text, settings, static_cast<unsigned>(n), kFar, n == 0);
    }
  }
}

// Sums cancel here, so that errors are larger parts of what is left.
TEST(KernelLanguage, RandomKernelsComputeWhatTheySay) {
  for (unsigned n = 0; n < 150 && !HasFailure(); ++n) {
    const std::string text = RandomKernel(n).text();
    SCOPED_TRACE(text);
    computesWhatItSays(text, {}, n, 1e-3);
  }
}

// Each a form of statement that the kernels above do not have.
TEST(KernelLanguage, EveryFormOfStatement) {
  const char* const kForms[] = {
      // Strided and reversed operands, one index alone along nothing contiguous.
      "input X f32 [6, 9] strides [1, 6]\noutput Y f32 [6, 9]\nindex i in 6\nindex j in 9\nY[i, j] = X[i, j] * 2\n",
      "input X f32 [40]\noutput Y f32 [13]\nindex i in 13\nY[i] = X[3 * i + 1] - 1\n",
      "input X f32 [9]\noutput Y f32 [9]\nindex i in 9\nY[i] = X[8 - i]\n",
      "input X f32 [4, 1] strides [1, 0]\noutput Y f32 [4, 17]\nindex i in 4\nindex j in 17\nY[i, j] = X[i, 0]\n",
      "input X f32 [5, 17]\noutput Y f32 [5, 17] strides [40, 2]\nindex i in 5\nindex j in 17\nY[i, j] = X[i, j] + 1\n",
      // Strides of 0, along the vector and beside it.
      "input X f16 [5] strides [0]\noutput Y f32 [5]\nindex i in 5\nY[i] = X[i]\n",
      "input X f16 [5, 17] strides [1, 0]\ninput Z bf16 [5, 17] strides [0, 0]\noutput Y f32 [5, 17]\nindex i in "
      "5\nindex j in 17\n"
      "Y[i, j] = X[i, j] * Z[i, j] + sum[j](X[i, j])\n",
      "input A f16 [5, 9] strides [0, 1]\ninput B bf16 [9, 17] strides [0, 0]\noutput C f32 [5, 17]\nindex i in "
      "5\nindex j in 17\nindex k in 9\n"
      "C[i, j] = sum[k](A[i, k] * B[k, j])\n",
      "input X f32 [5] strides [0]\ninput Z f32 [5, 17] strides [20, 0]\noutput Y f32 [5, 17]\nindex i in 5\nindex j "
      "in 17\n"
      "Y[i, j] = X[i] / (abs(Z[i, j]) + 1)\n",
      // Types.
      "input X bf16 [5, 17]\ninput Z f16 [17]\noutput Y f32 [5, 17]\nindex i in 5\nindex j in 17\nY[i, j] = X[i, j] * "
      "Z[j] + exp(X[i, j])\n",
      "input X f32 [5, 17]\noutput Y bf16 [17, 5]\nindex i in 5\nindex j in 17\nY[j, i] = X[i, j]\n",
      "input X f16 [7]\noutput Y f16 [7, 20]\nindex i in 7\nindex j in 20\nY[i, j] = X[i]\n",
      // Numbers alone, and elements that stand in several places.
      "output Y f32 [3, 20]\nindex i in 3\nindex j in 20\nY[i, j] = 2.5\n",
      "input X f32 [20]\ninput Z f32 [20]\noutput Y f32 [20]\nindex j in 20\nY[j] = X[j] * Z[j] + X[j] * X[j] - Z[j] / "
      "(X[j] * X[j] + 1)\n",
      "input A f32 [20]\ninput B f32 [20]\ninput C f32 [20]\noutput Y f32 [20]\nindex j in 20\n"
      "Y[j] = select(less(A[j], B[j]), C[j], A[j] + 1) + max(A[j], max(B[j], C[j]))\n",
      "input s f32 [1]\ninput t f32 [1]\noutput Y f32 [20]\nindex j in 20\nY[j] = s[0] * t[0]\n",
      "input s f32 [4]\ninput t f32 [4]\noutput Y f32 [4, 20]\nindex i in 4\nindex j in 20\nY[i, j] = s[i] / (t[i] + "
      "3)\n",
      // Reductions: over several indices, of expressions, into columns, 16 bits and nothing; nested ones.
      "input X f32 [3, 4, 50]\noutput Y f32 [3]\nindex i in 3\nindex j in 4\nindex k in 50\nY[i] = max[j, k](abs(X[i, "
      "j, k]))\n",
      "input X f32 [3, 4, 50]\noutput Y f32 [3]\nindex i in 3\nindex j in 4\nindex k in 50\nY[i] = sum[k, j](X[i, j, "
      "k] * 2 + 1)\n",
      "input X f32 [6, 50]\noutput Y f32 [50]\nindex j in 6\nindex k in 50\nY[k] = min[j](X[j, k] * X[j, k])\n",
      "input X f16 [6, 50]\noutput Y f16 [6]\nindex j in 6\nindex k in 50\nY[j] = max[k](X[j, k])\n",
      "input X f32 [6, 50]\noutput Y f32 [6, 2]\nindex j in 6\nindex k in 50\nY[j, 1] = sum[k](X[j, k])\nY[j, 0] = "
      "min[k](X[j, k])\n",
      "input X f32 [6, 50]\noutput Y f32 []\nindex j in 6\nindex k in 50\nY = max[j](sum[k](X[j, k]))\n",
      "input X f32 [6, 50]\noutput Y f32 [6, 50]\nindex j in 6\nindex k in 50\nY[j, k] = X[j, k] / (1 + sum[k](X[j, k] "
      "* X[j, k]))\n",
      "input X f32 [20]\ninput Z f32 [7]\noutput Y f32 [7]\nindex j in 20\nindex k in 7\nY[k] = sum[j](X[j]) * Z[k]\n",
      // Sums of products: three dimensions, a factor that is computed, one of 16 bits along nothing, and what finishes them.
      "input A f32 [2, 5, 9]\ninput B f32 [2, 9, 30]\noutput C f32 [2, 5, 30]\nindex b in 2\nindex i in 5\nindex j in "
      "30\nindex k in 9\n"
      "C[b, i, j] = sum[k](A[b, i, k] * B[b, k, j])\n",
      "input A bf16 [5, 9]\ninput B f32 [9, 30]\ninput D f32 [30]\noutput C bf16 [5, 30]\nindex i in 5\nindex j in "
      "30\nindex k in 9\n"
      "C[i, j] = tanh(sum[k](exp(A[i, k]) * B[k, j]) * 0.5 + D[j])\n",
      "input A f16 [5, 9]\ninput B f16 [9, 30]\ninput s f32 [5]\ninput t f32 [30]\noutput C f32 [5, 30]\nindex i in "
      "5\nindex j in 30\nindex k in 9\n"
      "C[i, j] = sum[k](A[i, k] * B[k, j]) * s[i] + t[j]\n",
      "input X f32 [3, 12]\ninput w f32 [3]\noutput Y f32 [10]\nindex x in 10\nindex c in 3\nindex i in 3\nY[x] = "
      "sum[c, i](X[c, x + i] * w[i])\n",
      "input Q f32 [6, 20]\ninput K f32 [20, 40]\noutput Y f32 [6, 40]\nindex d in 20\nindex u in 40\nparallel i in 6 "
      "by 4\n  let s[i, u]\n"
      "  loop v in 40 by 16\n    s[i, v] = sum[d](Q[i, d] * K[d, v])\n  Y[i, u] = s[i, u]\n",
      "input Q f32 [2, 6, 40]\noutput Y f32 [2, 6]\nindex u in 40\nparallel h in 2\n  loop i in 6 by 4\n"
      "    let m[i] = max[u](Q[h, i, u])\n    let e[i, u] = exp(Q[h, i, u] - m[i])\n    Y[h, i] = sum[u](e[i, u])\n",
      // Serial loops whose steps stand on each other.
      "input X f32 [10, 20]\noutput Y f32 [11, 20]\nindex j in 20\nY[0, j] = 0\nloop i in 10\n  Y[i + 1, j] = Y[i, j] "
      "* 0.5 + X[i, j]\n"};
  int n = 0;
  for (const char* form : kForms) {
    SCOPED_TRACE(form);
    computesWhatItSays(withHead(form), {}, static_cast<unsigned>(++n));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cubejit
