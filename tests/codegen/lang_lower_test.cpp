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
#include "tests/support/kernel_computes.h"
#include "tests/support/random_kernel.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

// How many kernels of a program sum up products, as f32 or as pairs. Sums of elements alone are none.
struct Sums {
  int plain = 0, dots = 0, formed = 0;  ///< the last ones of pairs that the kernel forms
  int tiles = 0;                        ///< of a matrix unit
};
Sums sumsOf(const std::string& text, IsaLevel level) {
  const auto kernel = lang::parse(text, {});
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  const auto program = lang::lower(*kernel, isaOf(level));
  EXPECT_TRUE(program.ok()) << program.error().message;
  Sums sums;
  for (const Kernel& k : program->kernels) {
    const auto* c = std::get_if<Contract>(&k);
    if (std::holds_alternative<TileProduct>(k)) ++sums.tiles;
    if (c == nullptr || !c->readsA()) continue;
    ++(c->products != Products::kF32 ? sums.dots : sums.plain);
    if (c->vectorsB == Element::kPair) ++sums.formed;
  }
  return sums;
}

TEST(KernelLanguage, KernelsComputeWhatTheySay) {
  std::mt19937 random(5);
  const std::vector<KernelFile> files = kernelFiles();
  EXPECT_GE(files.size(), 10U);
  for (const KernelFile& file : files) {
    const auto first = lang::parse(file.text, {});
    ASSERT_TRUE(first.ok()) << file.name << ": " << first.error().message;
    for (int n = 0; n < 4 && !testing::Test::HasFailure(); ++n) {
      lang::Settings settings;
      if (n > 0) settings = otherSettings(file.text, *first, random);
      std::string told = file.name;
      for (const auto& [name, value] : settings) told += " " + name + "=" + value;
      SCOPED_TRACE(told);
      computesWhatItSays(file.text, settings, static_cast<unsigned>(n), kFar, n == 0);
    }
  }
}

// Sums cancel here, so that errors are larger parts of what is left.
TEST(KernelLanguage, RandomKernelsComputeWhatTheySay) {
  int dots = 0;
  for (unsigned n = 0; n < 300 && !HasFailure(); ++n) {
    const std::string text = RandomKernel(n).text();
    SCOPED_TRACE(text);
    computesWhatItSays(text, {}, n, 1e-3);
    dots += sumsOf(text, IsaLevel::kAvx512Bf16).dots;
  }
  EXPECT_GT(dots, 0);
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
      // A tile of a longer value beside sums: vectors of its last tile would end behind it.
      "input A f32 [4]\ninput B f32 [4, 32]\noutput C f32 [32]\nindex d in 4\nindex f in 32\nlet beside[f] = 1\nloop v "
      "in 32 by 8\n"
      "  C[v] = sum[d](A[d] * B[d, v]) + beside[v]\n",
      "input A f32 [4]\ninput B f32 [4, 40]\noutput C f32 [32]\nindex d in 4\nindex f in 40\nlet beside[f] = 1\nloop v "
      "in 32 by 16\n"
      "  C[v] = sum[d](A[d] * B[d, v]) + beside[v + 8]\n",
      // Loops over a loop's tile: panels of a block, of whole and shorter ones; a loop in such a loop; sums over the tile of one.
      "input A f32 [7, 11]\ninput B f32 [11, 90]\noutput C f32 [7, 90]\nindex m in 7\nparallel J in 90 by 32\n"
      "  let sums[m, J] = 0\n  loop k in 11 by 4\n    let block[k, J]\n    loop p in J by 16\n      block[k, p] = B[k, "
      "p]\n"
      "    loop i in 7 by 3\n      loop j in J by 16\n        sums[i, j] = sums[i, j] + sum[k](A[i, k] * block[k, j])\n"
      "  C[m, J] = sums[m, J]\n",
      "input X f32 [50, 3]\noutput Y f32 [50, 3]\nindex c in 3\nloop a in 50 by 24\n  let t[a, c] = X[a, c] + 1\n"
      "  loop b in a by 12\n    let u[b] = sum[c](t[b, c])\n    loop d in b by 4\n      Y[d, c] = t[d, c] * u[d] + "
      "X[d, c]\n",
      "input X f32 [50]\noutput Y f32 [1]\nindex o in 1\nY[o] = 0\nloop a in 50 by 24\n  loop b in a by 8\n"
      "    Y[o] = Y[o] + sum[b](X[b])\n",
      // Bytes that lie apart, or are one for all, are copied one by one into rows that dot products read by words.
      "input A i8 [28, 3] strides [2, 56]\ninput B i8 [3, 5] strides [2, 8]\noutput C f32 [5, 28]\nindex i in "
      "28\nindex j in "
      "5\nindex k in 3\nlet turned[j, k] = B[k, j]\nC[j, i] = sum[k](A[i, k] * turned[j, k])\n",
      "input A i8 [28, 3] strides [0, 0]\ninput B i8 [3, 5] strides [0, 1]\noutput C f32 [5, 28]\nindex i in 28\nindex "
      "j in "
      "5\nindex k in 3\nlet turned[j, k] = B[k, j]\nC[j, i] = sum[k](A[i, k] * turned[j, k])\n",
      // Pairs of the factor that is the same along the vectors, in panels of two: words of a row are as far apart as numbers that share one.
      "input A bf16 [7, 33]\ninput B bf16 [40, 7]\noutput C f32 [33, 40]\nindex k in 7\nindex m in 33\nlet rows[k, m]\n"
      "parallel r in 33 by 2\n  rows[k, r] = A[k, r]\nparallel j in 40 by 16\n  let panel[k, j] = B[j, k]\n"
      "  loop i in 33 by 2\n    C[i, j] = sum[k](rows[k, i] * panel[k, j])\n",
      // Two parallel loops number the parts of a sum.
      "input X f32 [3, 10, 4]\noutput Y f32 [4]\nindex c in 4\nindex p in 9\nlet parts[p, c]\nindex x in 4\nindex y in "
      "2\n"
      "parallel n in 3\n  parallel q in 2\n    parts[3 * n + q, c] = sum[x](X[n, 4 * q + x, c])\n"
      "parallel m in 3\n  parts[3 * m + 2, c] = sum[y](X[m, 8 + y, c])\nY[c] = sum[p](parts[p, c])\n",
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
      // Sums and others of a loop's tile, the last one shorter: added to what is there, to that and more, of pairs, across lanes, down columns.
      "input A f32 [5, 37]\ninput B f32 [37, 30]\noutput C f32 [5, 30]\nindex i in 5\nindex j in 30\nC[i, j] = 1\n"
      "loop k in 37 by 8\n  C[i, j] = C[i, j] + sum[k](A[i, k] * B[k, j])\n",
      "input A f16 [5, 37]\ninput B f32 [37, 30]\noutput C f16 [5, 30]\nindex i in 5\nindex j in 30\nC[i, j] = 0\n"
      "loop k in 37 by 37\n  C[i, j] = sum[k](A[i, k] * B[k, j]) + C[i, j]\n",
      "input A bf16 [5, 3, 37]\ninput B bf16 [3, 37, 30]\noutput C f32 [5, 30]\nindex i in 5\nindex j in 30\nindex c "
      "in "
      "3\nC[i, j] = 0\nloop k in 37 by 7\n  let panel[c, k, j] = B[c, k, j]\n"
      "  C[i, j] = sum[c, k](A[i, c, k] * panel[c, k, j]) + C[i, j]\n",
      "input A f32 [5, 37]\ninput B f32 [37, 30]\noutput C f32 [5, 30]\nindex i in 5\nindex j in 30\nC[i, j] = 0\n"
      "loop k in 37 by 16\n  C[i, j] = C[i, j] * 0.5 + sum[k](A[i, k] * B[k, j])\n",
      "input X f32 [6, 50]\noutput Y f32 [6]\nindex i in 6\nY[i] = -9\nloop k in 50 by 16\n"
      "  Y[i] = max(Y[i], max[k](X[i, k]))\n",
      "input X f32 [6, 50]\noutput Y f32 [6]\nindex i in 6\nY[i] = 0\nloop k in 50 by 13\n"
      "  let e[i, k] = X[i, k] * 2\n  Y[i] = Y[i] + sum[k](e[i, k] * X[i, k])\n",
      "input X f32 [20, 50]\noutput Y f32 [50]\nindex j in 50\nY[j] = 9\nloop k in 20 by 8\n"
      "  Y[j] = min(Y[j], min[k](X[k, j]))\n",
      // Minima and maxima down columns: over two indices, of 16 bits and bytes, into other types, finished by more, more rows than registers, of
      // tiles of a loop on either side of what is there.
      "input X f32 [3, 4, 50]\noutput Y f32 [50]\nindex i in 3\nindex j in 4\nindex k in 50\nY[k] = max[i, j](X[i, j, "
      "k])\n",
      "input X f16 [6, 50]\ninput Z f32 [50]\noutput Y bf16 [50]\nindex j in 6\nindex k in 50\nY[k] = relu(max[j](X[j, "
      "k]) "
      "* 0.5 - Z[k])\n",
      "input X i8 [6, 50]\noutput Y i8 [50]\noutput S f32 [50]\nindex j in 6\nindex k in 50\nY[k] = min[j](X[j, k])\n"
      "S[k] = sum[j](X[j, k]) + max[j](X[j, k])\n",
      "input X f32 [9, 40, 20]\noutput Y f32 [40, 20]\noutput S f32 [40, 20]\nindex j in 9\nindex k in 20\nloop i in "
      "40 by "
      "37\n  Y[i, k] = min[j](X[j, i, k])\n  S[i, k] = sum[j](X[j, i, k])\n",
      "input X f32 [20, 50]\noutput Y f32 [50]\noutput Z f16 [50]\nindex j in 50\nY[j] = -9\nZ[j] = 9\nloop k in 20 by "
      "8\n"
      "  Y[j] = max(max[k](X[k, j]), Y[j])\n  Z[j] = min(Z[j], min[k](X[k, j]))\n",
      // More numbers of an index without a loop than registers hold.
      "input A f32 [5, 9]\ninput B f32 [9, 700]\ninput D f32 [700]\noutput C f32 [5, 700]\nindex k in 9\nindex j in "
      "700\n"
      "loop i in 5 by 4\n  C[i, j] = sum[k](exp(A[i, k]) * B[k, j]) + D[j]\n",
      "input X bf16 [9, 700]\noutput Y f32 [700]\noutput Z f32 [700]\nindex i in 9\nindex j in 700\n"
      "Y[j] = max[i](abs(X[i, j])) * 2\nZ[j] = 0\nloop k in 9 by 4\n  Z[j] = Z[j] + sum[k](X[k, j])\n",
      // Values that lie in blocks, behind one another: the factor that lies along vectors, and the other one.
      "input A f32 [9, 13]\ninput B f32 [9, 30]\noutput C f32 [13, 30]\nindex k in 9\nindex m in 13\nindex n in 30\n"
      "let rows[k, m]\nlet panels[k, n]\nparallel r in 13 by 4\n  rows[k, r] = A[k, r]\nloop p in 30 by 8\n"
      "  panels[k, p] = B[k, p]\nparallel i in 13 by 4\n  loop j in 30 by 8\n"
      "    C[i, j] = sum[k](rows[k, i] * panels[k, j])\n",
      "input A bf16 [13, 9]\ninput B bf16 [30, 9]\noutput C f32 [13, 30]\nindex k in 9\nindex n in 30\n"
      "let panels[k, n]\nparallel p in 30 by 16\n  panels[k, p] = B[p, k]\nparallel i in 13 by 4\n  loop j in 30 by "
      "16\n"
      "    C[i, j] = sum[k](A[i, k] * panels[k, j]) + panels[0, j]\n",
      // One of bf16 whose blocks end with half a pair, the last of them where its memory ends.
      "input A bf16 [32, 35]\ninput B bf16 [35, 16]\noutput C f32 [32, 16]\nindex m in 35\nindex r in 32\nindex j in "
      "16\n"
      "let a[r, m]\nloop q in 35 by 7\n  a[r, q] = A[r, q]\nC[r, j] = 0\nloop k in 35 by 7\n  loop i in 32 by 4\n"
      "    C[i, j] = C[i, j] + sum[k](a[i, k] * B[k, j])\n",
      // Three, five and six elements in one expression.
      "input X f32 [7, 30]\ninput m bf16 [7]\ninput s f32 [7]\ninput g f16 [30]\ninput b f32 [30]\noutput Y f32 [7, "
      "30]\n"
      "index i in 7\nindex j in 30\nY[i, j] = (X[i, j] - m[i]) * s[i] * g[j] + b[j]\n",
      "input X f32 [7, 300]\ninput s f32 [7]\ninput g f32 [300]\noutput Y f32 [7]\nindex i in 7\nindex j in 300\n"
      "Y[i] = sum[j](X[i, j] * s[i] * g[j] + X[i, j])\n",
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

// A gemm whose operands, of bf16 or another type, lie as `a` and `b` say, with lines in the loops over j and over i.
std::string gemm(const std::string& sizes, const std::string& a, const std::string& b, const std::string& lets,
                 const std::string& lines, const std::string& rows = "2", const std::string& type = "bf16",
                 const std::string& result = "f32") {
  return withHead(sizes + "input A " + type + " " + a + "\ninput B " + type + " " + b + "\ninput D f32 [N]\noutput C " +
                  result + " [M, N]\nindex k in K\nparallel j in N by 32\n" + lets + "  loop i in M by " + rows + "\n" +
                  lines);
}

// What gemm() is made of.
struct GemmForm {
  const char *a, *b, *lets, *lines;
  bool formed = false;  ///< words of pairs are formed on the way
};
constexpr const char* kPanelSum = "    C[i, j] = sum[k](A[i, k] * panel[k, j])\n";

// Those whose sums of bf16 and of i8 are dot products however the operands lie, and others.
std::vector<GemmForm> formsAnd(std::vector<GemmForm> forms) {
  const GemmForm kBoth[] = {
      {"[M, K]", "[K, N]", "  let panel[k, j] = B[k, j]\n", kPanelSum},
      {"[M, K]", "[N, K]", "  let panel[k, j] = B[j, k]\n", kPanelSum},
      {"[M, K] strides [K + 3, 1]", "[K, N] strides [N + 5, 1]", "  let panel[k, j] = B[k, j]\n", kPanelSum},
      {"[M, K]", "[K, N]", "  let panel[k, j] = B[K - 1 - k, j]\n", kPanelSum},
      {"[M, K]", "[K, N] strides [1, K + 1]", "  let panel[k, j] = B[k, j]\n", kPanelSum},
      {"[K, M]", "[N, K]", "  let panel[k, j] = B[j, k]\n",
       "    let turned[i, k] = A[k, i]\n    C[i, j] = sum[k](panel[k, j] * turned[i, k])\n"},
      // The second of two indices.
      {"[M, 3, K]", "[3, K, N]", "  let panel[c, k, j] = B[c, k, j]\n",
       "    C[i, j] = sum[k, c](A[i, c, k] * panel[c, k, j])\n"},
  };
  forms.insert(forms.begin(), std::begin(kBoth), std::end(kBoth));
  return forms;
}

TEST(KernelLanguage, SumsOfProductsOfBf16AreDotProducts) {
  const std::vector<GemmForm> forms = formsAnd({
      // An operand that is turned before, and one that needs no panel.
      {"[K, M]", "[K, N]", "  let panel[k, j] = B[k, j]\n",
       "    let turned[i, k] = A[k, i]\n    C[i, j] = sum[k](panel[k, j] * turned[i, k])\n"},
      {"[M, K]", "[K, N]", "", "    C[i, j] = sum[k](A[i, k] * B[k, j])\n", true},
      {"[M, K]", "[K, N]", "", "    C[i, j] = sum[k](B[K - 1 - k, j] * A[i, k])\n", true},
      // Several sums that read one panel, and what finishes them.
      {"[M, K]", "[K, N]", "  let panel[k, j] = B[k, j]\n  let beside[j] = D[j]\n",
       "    C[i, j] = relu(sum[k](A[i, k] * panel[k, j]) + beside[j])\n"},
      {"[M, K]", "[K, N]", "  let panel[k, j] = B[k, j]\n",
       "    C[i, j] = max(sum[k](A[i, k] * panel[k, j]), 0.5) * D[j] - sum[k](A[i, k] * panel[k, j])\n"},
      {"[M, K]", "[K, N]", "  let panel[k, j] = B[k, j]\n",
       "    let s[i, j] = sum[k](A[i, k] * panel[k, j])\n    C[i, j] = tanh(s[i, j]) + sum[k](panel[k, j] * A[i, "
       "k])\n"},
      // A panel that is filled later.
      {"[M, K]", "[K, N]", "  let panel[k, j]\n  panel[k, j] = B[k, j]\n", kPanelSum},
  });
  unsigned n = 0;
  for (const char* sizes :
       {"parameter M = 9\nparameter N = 64\nparameter K = 24\n",
        "parameter M = 7\nparameter N = 41\nparameter K = 13\n", "parameter M = 1\nparameter N = 3\nparameter K = 1\n",
        "parameter M = 4\nparameter N = 33\nparameter K = 2\n"}) {
    for (const GemmForm& form : forms) {
      std::string head = sizes;
      if (std::string(form.a).find("3, K") != std::string::npos) head += "index c in 3\n";
      const std::string text = gemm(head, form.a, form.b, form.lets, form.lines);
      SCOPED_TRACE(text);
      computesWhatItSays(text, {}, ++n, kFar, true);
      const Sums dots = sumsOf(text, IsaLevel::kAvx512Bf16);
      EXPECT_GT(dots.dots, 0);
      EXPECT_EQ(dots.plain, 0);
      EXPECT_EQ(dots.formed, form.formed ? dots.dots : 0);
      for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kNeon})
        EXPECT_EQ(sumsOf(text, level).dots, 0);
      if (HasFailure()) return;
    }
  }
}

// However the operands lie, for every number that is left of four.
TEST(KernelLanguage, SumsOfProductsOfI8AreExact) {
  const char* const kDirect = "    C[i, j] = sum[k](A[i, k] * B[k, j])\n";
  const std::vector<GemmForm> forms = formsAnd({
      {"[K, M]", "[K, N]", "  let panel[k, j] = B[k, j]\n", "    C[i, j] = sum[k](A[k, i] * panel[k, j])\n"},
      // Without a panel, and with one that something else reads.
      {"[M, K]", "[K, N]", "", kDirect},
      {"[M, K]", "[K, N] strides [3 * N, 3]", "", kDirect},
      {"[M, K]", "[K, N]", "  let panel[k, j] = B[k, j]\n",
       "    C[i, j] = sum[k](A[i, k] * panel[k, j]) + max[k](panel[k, j])\n"},
      {"[M, K]", "[K, N]", "  let panel[k, j] = B[k, j]\n",
       "    let q[i, k] = A[i, k]\n    C[i, j] = sum[k](q[i, k] * panel[k, j]) + q[i, 0]\n"},
      // What finishes them.
      {"[M, K]", "[K, N]", "  let panel[k, j] = B[k, j]\n",
       "    C[i, j] = relu(sum[k](A[i, k] * panel[k, j]) * 0.001 + D[j])\n"},
      {"[M, K]", "[K, N]", "  let panel[k, j] = B[k, j]\n",
       "    C[i, j] = max(sum[k](A[i, k] * panel[k, j]), 0.5) * D[j] - sum[k](A[i, k] * panel[k, j])\n"},
  });
  unsigned n = 0;
  for (const char* sizes :
       {"parameter M = 9\nparameter N = 64\nparameter K = 24\n",
        "parameter M = 7\nparameter N = 41\nparameter K = 13\n", "parameter M = 1\nparameter N = 3\nparameter K = 1\n",
        "parameter M = 4\nparameter N = 33\nparameter K = 2\n",
        "parameter M = 3\nparameter N = 32\nparameter K = 35\n"}) {
    for (const GemmForm& form : forms) {
      std::string head = sizes;
      if (std::string(form.a).find("3, K") != std::string::npos) head += "index c in 3\n";
      for (const char* result : {"i32", "f32", "i8"}) {
        const std::string text = gemm(head, form.a, form.b, form.lets, form.lines, "2", "i8", result);
        SCOPED_TRACE(text);
        computesWhatItSays(text, {}, ++n, kFar, true);
        EXPECT_GT(sumsOf(text, IsaLevel::kAvx512Bf16).dots, 0);
        EXPECT_EQ(sumsOf(text, IsaLevel::kAvx512Bf16).plain, 0);
        for (const IsaLevel level : {IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kNeon})
          EXPECT_EQ(sumsOf(text, level).dots, 0);
        if (HasFailure()) return;
      }
    }
  }
}

// More terms than f32 holds need dot products.
TEST(KernelLanguage, LongSumsOfI8) {
  const std::string panel = "  let panel[k, j] = B[k, j]\n", sum = "    C[i, j] = sum[k](A[i, k] * panel[k, j])\n";
  const auto lowered = [&](const char* k, IsaLevel level) {
    const std::string sizes = std::string("parameter M = 2\nparameter N = 32\nparameter K = ") + k + "\n";
    const auto kernel = lang::parse(gemm(sizes, "[M, K]", "[K, N]", panel, sum, "2", "i8", "i32"), {});
    EXPECT_TRUE(kernel.ok());
    return lang::lower(*kernel, isaOf(level));
  };
  EXPECT_TRUE(lowered("1025", IsaLevel::kAvx512Bf16).ok());
  EXPECT_TRUE(lowered("1024", IsaLevel::kAvx2).ok());
  const auto refused = lowered("1025", IsaLevel::kAvx512);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("avx512 has no dot product of bytes"));
  // The largest products there are: f32 holds 1024 of them.
  const auto kernel =
      lang::parse(withHead("input A i8 [1, 1024]\ninput B i8 [1024, 16]\noutput C i32 [1, 16]\nindex i in "
                           "1\nindex j in 16\nindex k in 1024\nC[i, j] = sum[k](A[i, k] * B[k, j])\n"),
                  {});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  for (const IsaLevel level : kLevels) {
    const auto program = lang::lower(*kernel, isaOf(level));
    ASSERT_TRUE(program.ok()) << program.error().message;
    std::vector<std::int8_t> a(std::size_t{1024} * 16, -128), b = a;  // in any order
    std::vector<std::int32_t> c(16);
    ASSERT_TRUE(interpret(*program, {a.data(), b.data(), c.data()}).ok());
    EXPECT_EQ(c, std::vector<std::int32_t>(16, 1 << 24));
  }
}

// Sizes that leave parts of tiles, of pairs and of products; sums that are stored as they are, and others.
TEST(KernelLanguage, SumsOfPairsAreProductsOfTiles) {
  const std::string panel = "  let panel[k, j] = B[k, j]\n";
  unsigned n = 0;
  for (const char* sizes : {"parameter M = 70\nparameter N = 64\nparameter K = 64\n",
                            "parameter M = 41\nparameter N = 77\nparameter K = 45\n",
                            "parameter M = 33\nparameter N = 32\nparameter K = 1\n"}) {
    for (const char* rows : {"32", "12"}) {
      for (const char* line :
           {"C[i, j] = sum[k](A[i, k] * panel[k, j])\n", "C[i, j] = relu(sum[k](A[i, k] * panel[k, j]) + D[j])\n"}) {
        for (const bool turned : {false, true}) {
          const std::string let = turned ? "    let turned[i, k] = A[k, i]\n" : "";
          std::string sum = line;
          if (turned) sum.replace(sum.find("A[i, k]"), 1, "turned");
          const std::string text = gemm(sizes, turned ? "[K, M]" : "[M, K]", "[K, N]", panel, let + "    " + sum, rows);
          SCOPED_TRACE(text);
          computesWhatItSays(text, {}, ++n, kFar, true, {IsaLevel::kAvx512Amx, IsaLevel::kAvx512AmxFp16});
          const Sums sums = sumsOf(text, IsaLevel::kAvx512Amx);
          EXPECT_GT(sums.tiles, 0);
          EXPECT_EQ(sums.dots + sums.plain, 0);
          if (HasFailure()) return;
        }
      }
    }
  }
  const std::string three =
      gemm("parameter M = 9\nparameter N = 32\nparameter K = 44\nindex c in 3\n", "[M, 3, K]", "[3, K, N]",
           "  let panel[c, k, j] = B[c, k, j]\n", "    C[i, j] = sum[k, c](A[i, c, k] * panel[c, k, j])\n", "9");
  computesWhatItSays(three, {}, 1, kFar, true, {IsaLevel::kAvx512Amx});
  EXPECT_GT(sumsOf(three, IsaLevel::kAvx512Amx).tiles, 0);
}

// Values that something else reads or writes are f32, and so are sums whose other factor has no pairs side by side.
TEST(KernelLanguage, WhatIsReadOtherwiseHoldsNoPairs) {
  struct Form {
    const char *lets, *lines;
    bool some = false;  ///< one of its sums is of dot products
  };
  const Form kForms[] = {
      {"  let panel[k, j] = B[k, j]\n", "    C[i, j] = sum[k](A[i, k] * panel[k, j]) + max[k](panel[k, j])\n"},
      {"  let panel[k, j] = B[k, j] * 2\n", "    C[i, j] = sum[k](A[i, k] * panel[k, j])\n"},
      {"  let panel[k, j] = B[k, j]\n  panel[0, j] = D[j]\n", "    C[i, j] = sum[k](A[i, k] * panel[k, j])\n"},
      {"  let panel[k, j] = B[k, j]\n", "    C[i, j] = sum[k](A[i, k] * panel[k, j] * D[j])\n"},
      {"  let panel[k, j] = B[k, j]\n", "    let q[i, k] = A[i, k] * 2\n    C[i, j] = sum[k](q[i, k] * panel[k, j])\n"},
      {"  let panel[k, j] = B[k, j]\n",
       "    let q[i, k] = A[i, k]\n    C[i, j] = sum[k](q[i, k] * panel[k, j]) + q[i, 0]\n"},
      {"  let panel[k, j] = B[k, j]\n  let more[k, j] = B[k, j] + 1\n",
       "    let q[i, k] = A[i, k]\n    C[i, j] = sum[k](q[i, k] * panel[k, j]) + sum[k](q[i, k] * more[k, j])\n"},
      {"  let panel[k, j] = B[k, j]\n  let more[k, j] = B[k, j] + 1\n",
       "    C[i, j] = sum[k](A[i, k] * panel[k, j]) + sum[k](A[i, k] * more[k, j])\n", true},
  };
  unsigned n = 0;
  for (const Form& form : kForms) {
    const std::string text =
        gemm("parameter M = 7\nparameter N = 41\nparameter K = 13\n", "[M, K]", "[K, N]", form.lets, form.lines);
    SCOPED_TRACE(text);
    computesWhatItSays(text, {}, ++n, kFar, true);
    EXPECT_GT(sumsOf(text, IsaLevel::kAvx512Bf16).plain, 0);
    EXPECT_EQ(sumsOf(text, IsaLevel::kAvx512Bf16).dots > 0, form.some);
  }
}

// Pairs begin at even numbers, tile after tile of them.
TEST(KernelLanguage, PairsOfTilesOfASum) {
  for (const char* tile : {"8", "7"}) {
    const std::string text = withHead(
        std::string("input A bf16 [5, 56]\ninput B bf16 [56, 20]\noutput C f32 [5, 20]\nindex i in 5\nindex j in "
                    "20\nindex k in 56\nindex u in ") +
        tile + "\nlet panel[k, j] = B[k, j]\nC[i, j] = 0\nloop t in 56 / " + tile +
        "\n  C[i, j] = C[i, j] + sum[u](A[i, " + tile + " * t + u] * panel[" + tile + " * t + u, j])\n");
    SCOPED_TRACE(text);
    computesWhatItSays(text, {}, 1, kFar, true);
    const Sums sums = sumsOf(text, IsaLevel::kAvx512Bf16);
    EXPECT_GT(sums.dots, 0);  // of odd tiles the kernel forms pairs
    EXPECT_EQ(sums.formed, tile[0] == '7' ? sums.dots : 0);
  }
}

}  // namespace
}  // namespace cubejit
