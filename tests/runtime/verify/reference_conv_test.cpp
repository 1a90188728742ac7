// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is asked of the reference: values worked out by hand, and the identities that tie gradients to the forward pass.
#include "runtime/verify/reference_conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/verify/random_problem.h"

namespace cubejit {
namespace {

constexpr PassMask kAll{true, true, true};

Problem line(std::int64_t in, std::int64_t kernel, std::int64_t out) {
  Problem p;
  p.rank = 1;
  p.in.w = in;
  p.kernel.w = kernel;
  p.out.w = out;
  return p;
}

// The forward pass, written from the definition and apart from the reference's own loops.
std::vector<double> forward(const Problem& p, const std::vector<float>& x, const std::vector<float>& w) {
  std::vector<double> y(static_cast<std::size_t>(yElements(p)), 0.0);
  const std::int64_t ci = p.cin / p.groups, co = p.cout / p.groups, taps = p.kernel.volume();
  const auto at = [&](std::int64_t n, std::int64_t c, std::int64_t channels, const Dhw& e, const Dhw& i) {
    const std::int64_t pixel = (i.d * e.h + i.h) * e.w + i.w;
    return static_cast<std::size_t>(p.layout == Layout::kNdhwc ? (n * e.volume() + pixel) * channels + c
                                                               : (n * channels + c) * e.volume() + pixel);
  };
  for (std::int64_t n = 0; n < p.batch; ++n) {
    for (std::int64_t o = 0; o < p.cout; ++o) {
      for (std::int64_t a = 0; a < ci; ++a) {
        const std::int64_t g = o / co, i = g * ci + a;
        for (std::int64_t s = 0; s < (p.transposed ? p.in : p.out).volume(); ++s) {
          const Dhw& se = p.transposed ? p.in : p.out;
          const Dhw small{s / (se.h * se.w), s / se.w % se.h, s % se.w};
          for (std::int64_t k = 0; k < taps; ++k) {
            const Dhw tap{k / (p.kernel.h * p.kernel.w), k / p.kernel.w % p.kernel.h, k % p.kernel.w};
            Dhw big;
            bool inside = true;
            for (int axis = 0; axis < 3; ++axis) {
              big[axis] = small[axis] * p.stride[axis] + tap[axis] * p.dilation[axis] - p.padBefore[axis];
              inside = inside && big[axis] >= 0 && big[axis] < (p.transposed ? p.out : p.in)[axis];
            }
            if (!inside) continue;
            const std::size_t xi = at(n, i, p.cin, p.in, p.transposed ? small : big);
            const std::size_t yi = at(n, o, p.cout, p.out, p.transposed ? big : small);
            const std::int64_t wi = p.transposed ? (i * co + o % co) * taps + k : (o * ci + a) * taps + k;
            y[yi] += static_cast<double>(x[xi]) * static_cast<double>(w[static_cast<std::size_t>(wi)]);
          }
        }
      }
    }
  }
  return y;
}

template <class A, class B>
double dot(const A& a, const B& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

TEST(ReferenceConv, ByHand) {
  // y0 = 1 w0 + 2 w1 + 3 w2, y1 = 2 w0 + 3 w1 + 4 w2
  const Problem p = line(4, 3, 2);
  const ReferenceResults r = referenceResults(p, kAll, {10, 100}, {1, 2, 3, 4}, {1, -1, 2});
  EXPECT_EQ(r.dx, (std::vector<double>{10, 100 - 10, 20 - 100, 200}));
  EXPECT_EQ(r.dw, (std::vector<double>{10 + 200, 20 + 300, 30 + 400}));
  EXPECT_EQ(r.db, (std::vector<double>{110}));
  EXPECT_EQ(r.dxBound, (std::vector<double>{10, 110, 120, 200}));
}

TEST(ReferenceConv, ByHandStridedPaddedDilated) {
  // i = 2 o + 2 k - 1: y0 reads x[-1], x1; y1 reads x1, x3
  Problem p = line(4, 2, 2);
  p.stride.w = p.dilation.w = 2;
  p.padBefore.w = 1;
  p.padAfter.w = 0;
  const ReferenceResults r = referenceResults(p, kAll, {10, 100}, {1, 2, 3, 4}, {5, 7});
  EXPECT_EQ(r.dx, (std::vector<double>{0, 10 * 7 + 100 * 5, 0, 100 * 7}));
  EXPECT_EQ(r.dw, (std::vector<double>{100 * 2, 10 * 2 + 100 * 4}));
}

TEST(ReferenceConv, ByHandTransposed) {
  // y[2 q + k] += x[q] w[k], y has 5 positions and one more of output padding
  Problem p = line(2, 3, 6);
  p.transposed = true;
  p.stride.w = 2;
  const ReferenceResults r = referenceResults(p, kAll, {1, 2, 3, 4, 5, 6}, {10, 100}, {1, -1, 2});
  EXPECT_EQ(r.dx, (std::vector<double>{1 - 2 + 6, 3 - 4 + 10}));
  EXPECT_EQ(r.dw, (std::vector<double>{10 + 300, 20 + 400, 30 + 500}));
  EXPECT_EQ(r.db, (std::vector<double>{21}));
}

// <dy, conv(x, w)> = <dx, x> = <dw, w>, exactly on integers; the forward pass knows nothing of the reference's loops.
TEST(ReferenceConv, AdjointOfTheForwardPass) {
  std::mt19937_64 random(17);
  int transposed = 0;
  for (int i = 0; i < 300; ++i) {
    const Problem p = randomProblem(random, 2e5);
    transposed += p.transposed ? 1 : 0;
    const auto dy = randomIntegers(random, yElements(p), 1), x = randomIntegers(random, xElements(p), 1),
               w = randomIntegers(random, wElements(p), 1);
    const ReferenceResults r = referenceResults(p, kAll, dy, x, w);
    const double want = dot(forward(p, x, w), dy);
    EXPECT_EQ(dot(r.dx, x), want);
    EXPECT_EQ(dot(r.dw, w), want);
    double sum = 0, biases = 0;
    for (const float v : dy) sum += static_cast<double>(v);
    for (const double v : r.db) biases += v;
    EXPECT_EQ(biases, sum);
  }
  EXPECT_GT(transposed, 20);
}

// With ones everywhere each multiply-add contributes one: the closed form and the loops count the same.
TEST(ReferenceConv, FlopsCountTapsInsideTheTensorOnly) {
  std::mt19937_64 random(23);
  for (int i = 0; i < 300; ++i) {
    const Problem p = randomProblem(random, 2e5);
    const auto ones = [](std::int64_t n) { return std::vector<float>(static_cast<std::size_t>(n), 1.0F); };
    const ReferenceResults r = referenceResults(p, {true, false, false}, ones(yElements(p)), {}, ones(wElements(p)));
    double sum = 0;
    for (const double v : r.dx) sum += v;
    EXPECT_EQ(passFlops(p, Pass::kDx), 2 * sum);
    EXPECT_EQ(passFlops(p, Pass::kDw), 2 * sum);
    EXPECT_EQ(passFlops(p, Pass::kDb), static_cast<double>(yElements(p)));
  }
}

}  // namespace
}  // namespace cubejit
