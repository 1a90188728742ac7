// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of the builder of kernels: does a call print the line that it says, do numbers and parentheses read back as they were meant, has it every
// operation of the language, and is a kernel that it prints one?
#include "cubejit/define.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "codegen/lang/source.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/kernel.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

// The text's last line.
std::string last(const KernelBuilder& k) {
  const std::string text = k.text().substr(0, k.text().size() - 1);
  return text.substr(text.rfind('\n') + 1);
}

TEST(KernelBuilder, PrintsAGemm) {
  KernelBuilder k("gemm", "C = relu(A B + bias).\nOf panels.");
  const auto M = k.parameter("M", 96), N = k.parameter("N"), K = k.parameter("K", 64);
  const auto mr = k.parameter("mr", {4, 1, 2}), nr = k.parameter("nr", {16});
  const KernelType T = k.parameter("T", {DType::kF32, DType::kBf16});
  k.require(mr * nr <= 96);
  const auto A = k.input("A", T, {M, K}), B = k.input("B", T, {K, N}, {1, K}), bias = k.input("bias", DType::kF32, {N});
  const auto C = k.output("C", DType::kF32, {M, N});
  const auto p = k.index("k", K);
  k.parallel("j", N, nr, [&](const KernelIndex& j) {
    const auto panel = k.let("panel", {p, j}, B(p, j));
    k.loop("i", M, mr, [&](const KernelIndex& i) { C(i, j) = relu(sum(p, A(i, p) * panel(p, j)) + bias(j)); });
  });
  EXPECT_EQ(k.text(),
            "cubejit kernel 1\n; C = relu(A B + bias).\n; Of panels.\nkernel gemm\nparameter M = 96\nparameter N\n"
            "parameter K = 64\nparameter mr in 4 1 2\nparameter nr in 16\nparameter T in f32 bf16\n"
            "require mr * nr <= 96\ninput A T [M, K]\ninput B T [K, N] strides [1, K]\ninput bias f32 [N]\n"
            "output C f32 [M, N]\nindex k in K\nparallel j in N by nr\n  let panel[k, j] = B[k, j]\n"
            "  loop i in M by mr\n    C[i, j] = relu(sum[k](A[i, k] * panel[k, j]) + bias[j])\n");
}

TEST(KernelBuilder, PrintsExpressionsAsTheyWereMeant) {
  KernelBuilder k("e");
  const auto M = k.parameter("M", 8);
  const auto X = k.input("X", DType::kF32, {M}), Y = k.output("Y", DType::kF32, {(M - 3) / 2 + 1});
  EXPECT_EQ(last(k), "output Y f32 [(M - 3) / 2 + 1]");
  const auto i = k.index("i", M), j = k.index("j", -M);
  EXPECT_EQ(last(k), "index j in -M");
  const auto x = X(i), y = X(2 * i + j - 1);
  const auto prints = [&](const KernelValue& value, const std::string& text) { EXPECT_EQ(value.text(), text); };
  prints(y, "X[2 * i + j - 1]");
  prints(x - (y - x), "X[i] - (X[2 * i + j - 1] - X[i])");
  prints(x - x - 1, "X[i] - X[i] - 1");  // NOLINT(misc-redundant-expression)
  prints(x / (x * 2), "X[i] / (X[i] * 2)");
  prints((x + 1) * -x, "(X[i] + 1) * -X[i]");
  prints(-(x + 1), "-(X[i] + 1)");
  prints(max({i, j}, x), "max[i, j](X[i])");
  prints(max(i, x), "max[i](X[i])");
  prints(argmax({i, j}, x), "argmax[i, j](X[i])");
  prints(argmin(i, x), "argmin[i](X[i])");
  prints(x * i + select(less(i, 2 * j), x, j), "X[i] * i + select(less(i, 2 * j), X[i], j)");
  prints(max(x, M), "max(X[i], M)");
  prints(min(x, 0), "min(X[i], 0)");
  prints(0.1, "0.1");
  prints(1e-5F, "1e-05");
  prints(-2.5, "-2.5");
  prints(1.0 / 3, "0.33333334");
  prints(16777217.0, "16777216");
  prints(std::numeric_limits<float>::denorm_min(), "1e-45");
  prints(std::numeric_limits<float>::max(), "3.4028235e+38");
  prints(-std::numeric_limits<float>::infinity(), "-inf");
  Y(i) = x;
  EXPECT_EQ(last(k), "Y[i] = X[i]");
  Y(0) = Y(1);
  EXPECT_EQ(last(k), "Y[0] = Y[1]");
  const auto s = k.let("s", {}, 1);
  EXPECT_EQ(last(k), "let s = 1");
  s() = s() * x;
  EXPECT_EQ(last(k), "s = s * X[i]");
  k.let("later", {i, j});
  EXPECT_EQ(last(k), "let later[i, j]");
  k.parallel("a", 3, [&](const KernelIndex& a) {
    k.loop("b", M, [&](const KernelIndex& b) { Y(a + b) = 0; });
    EXPECT_EQ(last(k), "    Y[a + b] = 0");
    Y(a) = 0;
  });
  EXPECT_THAT(k.text(), HasSubstr("\nparallel a in 3\n  loop b in M\n    Y[a + b] = 0\n  Y[a] = 0\n"));
  for (const KernelCondition& c : {M < 2, M <= 2, M > 2, M >= 2, M == 2}) k.require(c);
  k.parameter("U", DType::kBf16);
  EXPECT_EQ(last(k), "parameter U = bf16");
  EXPECT_THAT(k.text(), HasSubstr("require M < 2\nrequire M <= 2\nrequire M > 2\nrequire M >= 2\nrequire M == 2\n"));
}

TEST(KernelBuilder, HasEveryOperation) {
  KernelBuilder k("o");
  const auto x = k.input("X", DType::kF32, {1})(0);
  std::string words;
  for (const KernelValue& v :
       {fma(x, x, x), min(x, x),  max(x, x),     abs(x),          sqrt(x),    rsqrt(x),  round(x),  floor(x),
        exp(x),       log(x),     tanh(x),       erf(x),          sigmoid(x), relu(x),   gelu(x),   silu(x),
        equal(x, x),  less(x, x), at_most(x, x), select(x, x, x), and_(x, x), or_(x, x), xor_(x, x)}) {
    const std::string word = v.text().substr(0, v.text().find('('));
    const lang::Operation* const op = lang::operationNamed(word);
    ASSERT_NE(op, nullptr) << word;
    EXPECT_EQ(static_cast<std::size_t>(std::count(v.text().begin(), v.text().end(), 'X')), op->arity) << word;
    words += ", " + word;
  }
  // Those before are operators: + - * /, and - of one.
  std::string named = lang::operationWords();
  for (const char* const infix : {"add, sub, mul, div, ", ", neg"}) named.erase(named.find(infix), std::strlen(infix));
  EXPECT_EQ(words, ", " + named);
}

TEST(KernelBuilder, PrintsFirstExtremaThatAreFound) {
  if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  KernelBuilder k("first");
  const auto N = k.parameter("N", 4), M = k.parameter("M", 2);
  const auto X = k.input("X", DType::kF32, {M, N}), Y = k.output("Y", DType::kI32, {M});
  const auto j = k.index("j", N);
  k.parallel("i", M, [&](const KernelIndex& i) { Y(i) = argmin(j, X(i, j)) + 10 * argmax(j, X(i, j) + j) + 100 * i; });
  const auto first = TiledKernel::create(k.text());
  ASSERT_TRUE(first.ok()) << first.error().message;
  std::vector<float> x{7, 5, 4, 4, 1, 1, 1, 1};
  std::vector<std::int32_t> y(2);
  ASSERT_TRUE((*first)->run({x.data(), y.data()}).ok());
  EXPECT_EQ(y, (std::vector<std::int32_t>{2, 130}));
  // Without rows there is nothing to do, and no memory to do it in.
  const auto none = TiledKernel::create(k.text(), {{"M", 0}});
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_TRUE((*none)->run({nullptr, nullptr}).ok());
  EXPECT_TRUE((*none)->interpret({nullptr, nullptr}).ok());
}

TEST(KernelBuilder, PrintsWhatRuns) {
  if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
  KernelBuilder k("softmax");
  const auto M = k.parameter("M", 3), N = k.parameter("N", 4), rows = k.parameter("rows", {4, 1, 2, 8});
  const auto X = k.input("X", DType::kF32, {M, N}), Y = k.output("Y", DType::kF32, {M, N});
  const auto j = k.index("j", N);
  k.parallel("i", M, rows, [&](const KernelIndex& i) {
    const auto most = k.let("most", {i}, max(j, X(i, j)));
    const auto e = k.let("e", {i, j}, exp(X(i, j) - most(i)));
    const auto scale = k.let("scale", {i}, 1 / sum(j, e(i, j)));
    Y(i, j) = e(i, j) * scale(i);
  });
  const auto softmax = TiledKernel::create(k.text(), {{"M", 2}});
  ASSERT_TRUE(softmax.ok()) << softmax.error().message;
  std::vector<float> x(8, 7), y(8);
  ASSERT_TRUE((*softmax)->run({x.data(), y.data()}).ok());
  EXPECT_EQ(y, std::vector<float>(8, 0.25));
}

}  // namespace
}  // namespace cubejit
