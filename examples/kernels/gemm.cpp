// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix product with packing and an epilogue, written in C++: printed as text, generated, run, and compared with a loop.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "cubejit/define.h"
#include "cubejit/kernel.h"

namespace {

std::string gemmText() {
  using cubejit::DType;
  cubejit::KernelBuilder k("gemm");
  const auto M = k.parameter("M", 96), N = k.parameter("N", 128), K = k.parameter("K", 64);
  const auto mr = k.parameter("mr", {4, 6}), nr = k.parameter("nr", {16, 32});
  const auto A = k.input("A", DType::kF32, {M, K}), B = k.input("B", DType::kF32, {K, N});
  const auto bias = k.input("bias", DType::kF32, {N});
  auto C = k.output("C", DType::kF32, {M, N});
  const auto p = k.index("k", K);
  k.parallel("j", N, nr, [&](const cubejit::KernelIndex& j) {
    const auto panel = k.let("panel", {p, j}, B(p, j));
    k.loop("i", M, mr, [&](const cubejit::KernelIndex& i) { C(i, j) = relu(sum(p, A(i, p) * panel(p, j)) + bias(j)); });
  });
  return k.text();
}

}  // namespace

int main() {
  constexpr int kM = 50, kN = 70, kK = 33;
  const std::string text = gemmText();
  std::printf("%s\n", text.c_str());
  const auto kernel = cubejit::TiledKernel::create(text, {{"M", kM}, {"N", kN}, {"K", kK}});
  if (!kernel.ok()) {
    std::fprintf(stderr, "%s\n", kernel.error().message.c_str());
    return 1;
  }
  std::vector<float> a(kM * kK), b(kK * kN), bias(kN), c(kM * kN);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 3);
  if (const auto done = (*kernel)->run({a.data(), b.data(), bias.data(), c.data()}); !done.ok()) {
    std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return 1;
  }
  for (std::size_t i = 0; i < kM; ++i) {
    for (std::size_t j = 0; j < kN; ++j) {
      float sum = bias[j];
      for (std::size_t k = 0; k < kK; ++k) sum += a[i * kK + k] * b[k * kN + j];
      if (std::abs(c[i * kN + j] - std::max(sum, 0.0F)) > 1e-3F) {
        std::fprintf(stderr, "C[%zu, %zu] is %g, not %g\n", i, j, static_cast<double>(c[i * kN + j]),
                     static_cast<double>(std::max(sum, 0.0F)));
        return 1;
      }
    }
  }
  std::printf("the same as a loop over all elements\n");
  return 0;
}
