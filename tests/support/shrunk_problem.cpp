// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which extent goes next.
#include "tests/support/shrunk_problem.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cubejit {
namespace {

double multiplyAddsOf(const Problem& p) {
  const Dhw& sum = p.transposed ? p.in : p.out;
  return static_cast<double>(p.batch * p.cout) * static_cast<double>(p.cin / p.groups) *
         static_cast<double>(sum.volume()) * static_cast<double>(p.kernel.volume());
}

double mostElements(const Problem& p) {
  return static_cast<double>(std::max({xElements(p), yElements(p), wElements(p)}));
}

// Half, and as much above a multiple of 16 as before.
std::int64_t halfChannels(std::int64_t channels) {
  const std::int64_t half = channels / 2;
  return channels % 16 == 0 ? (half < 16 ? half : (half + 8) / 16 * 16) : half;
}

std::int64_t span(const Problem& p, int a) { return (p.kernel[a] - 1) * p.dilation[a] + 1; }

// An axis with so many windows of so many taps; pads shrink with the kernel, and what the last window leaves over stays.
Problem withAxis(Problem p, int a, std::int64_t out, std::int64_t kernel) {
  const std::int64_t over = p.in[a] + p.padBefore[a] + p.padAfter[a] - span(p, a) - (p.out[a] - 1) * p.stride[a];
  const std::int64_t reach = span(p, a);
  p.kernel[a] = kernel;
  if (reach > 1) {
    p.padBefore[a] = p.padBefore[a] * span(p, a) / reach;
    p.padAfter[a] = p.padAfter[a] * span(p, a) / reach;
  }
  for (p.out[a] = out;; ++p.out[a]) {
    p.in[a] = (p.out[a] - 1) * p.stride[a] + span(p, a) + over - p.padBefore[a] - p.padAfter[a];
    if (p.in[a] > 0) return p;
  }
}

Problem withChannels(Problem p, std::int64_t groups, std::int64_t in, std::int64_t out) {
  p.groups = groups;
  p.cin = groups * in, p.cout = groups * out;
  return p;
}

// The problem with one extent halved: that which is the largest, seen that channels and taps say more than pixels and images.
Problem smaller(const Problem& p) {
  const std::int64_t in = p.cin / p.groups, out = p.cout / p.groups;
  std::vector<std::pair<double, Problem>> ways;
  const auto offer = [&](double weight, const Problem& way) {
    if (multiplyAddsOf(way) < multiplyAddsOf(p) || mostElements(way) < mostElements(p)) ways.emplace_back(weight, way);
  };
  Problem fewer = p;
  fewer.batch = std::max<std::int64_t>(1, p.batch / 2);
  offer(static_cast<double>(p.batch * 16), fewer);
  for (int a = 0; a < 3; ++a) {
    if (p.out[a] > 1) offer(static_cast<double>(p.out[a] * 4), withAxis(p, a, p.out[a] / 2, p.kernel[a]));
    if (p.kernel[a] > 1) offer(static_cast<double>(p.kernel[a]), withAxis(p, a, p.out[a], (p.kernel[a] + 1) / 2));
  }
  if (in > 1) offer(static_cast<double>(in), withChannels(p, p.groups, halfChannels(in), out));
  if (out > 1) offer(static_cast<double>(out), withChannels(p, p.groups, in, halfChannels(out)));
  if (p.groups > 3) offer(static_cast<double>(p.groups), withChannels(p, p.groups / 2, in, out));
  const auto most =
      std::max_element(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return most == ways.end() ? p : most->second;
}

}  // namespace

Problem shrunkProblem(Problem p, double multiplyAdds, double elements) {
  while (multiplyAddsOf(p) > multiplyAdds || mostElements(p) > elements) {
    const Problem next = smaller(p);
    if (multiplyAddsOf(next) == multiplyAddsOf(p) && mostElements(next) == mostElements(p)) break;
    p = next;
  }
  return p;
}

}  // namespace cubejit
