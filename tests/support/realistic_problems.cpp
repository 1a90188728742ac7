// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the ranges, and draws again what leaves them.
#include "tests/support/realistic_problems.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tiling/check_problem.h"

namespace cubejit {
namespace {

constexpr double kLeastElements = 1 << 10, kMostElements = 2147483648.0;
constexpr double kMostWeights = 1 << 28;

// What an axis has at least and at most, by rank.
struct Extents {
  double least, most;
};
constexpr std::array<Extents, 3> kExtents{Extents{1e3, 6e7}, Extents{7, 3e4}, Extents{4, 1024}};

bool inRange(double value, const Extents& range) { return range.least <= value && value <= range.most; }

}  // namespace

std::int64_t RealisticProblems::logUniform(double least, double most) {
  const double unit = static_cast<double>(below(1 << 30)) / (1 << 30);
  const double drawn = std::exp(std::log(least) + unit * (std::log(most) - std::log(least)));
  return std::clamp<std::int64_t>(std::llround(drawn), std::llround(least), std::llround(most));
}

std::int64_t RealisticProblems::channels(std::int64_t most) {
  if (oneIn(8)) return std::min<std::int64_t>(most, oneOf({1, 2, 3, 4}));
  const std::int64_t drawn = logUniform(1, static_cast<double>(most));
  const std::int64_t kind = below(4);
  if (kind == 0) return drawn;
  if (kind == 1 && drawn >= 8) return drawn / 8 * 8;
  return std::int64_t{1} << std::llround(std::floor(std::log2(static_cast<double>(drawn))));
}

void RealisticProblems::drawChannels(Problem& p, std::int64_t most) {
  p.cin = channels(most), p.cout = channels(most);
  if (oneIn(6)) {  // depthwise, some with a multiplier
    p.groups = p.cin;
    p.cout = p.cin * (oneIn(4) ? 2 : 1);
  } else if (oneIn(8)) {
    p.groups = oneOf({2, 4, 8, 16, 32, 64});
    p.cin = p.groups * std::max<std::int64_t>(1, p.cin / p.groups);
    p.cout = p.groups * std::max<std::int64_t>(1, p.cout / p.groups);
  }
}

void RealisticProblems::drawWindow(Problem& p) {
  const bool same = !oneIn(3), dilated = oneIn(8), strided = oneIn(3);
  std::int64_t kernel = p.rank == 1 ? logUniform(2, 1024) : oneOf({1, 1, 3, 3, 3, 5, 7, 11});
  if (p.rank == 1 && oneIn(3)) kernel = oneOf({1, 3, 5, 9, 31});
  if (p.rank == 3) kernel = std::min<std::int64_t>(kernel, 7);
  const std::int64_t stride = oneOf({2, 2, 4}), dilation = oneOf({2, 4, 8});
  for (int axis = 3 - p.rank; axis < 3; ++axis) {
    p.kernel[axis] = kernel;
    if (p.rank > 1 && oneIn(8)) p.kernel[axis] = 1;  // 1x7, 3x1x1
    if (dilated && p.kernel[axis] > 1) p.dilation[axis] = dilation;
    if (strided) p.stride[axis] = stride;
    if (p.rank == 3 && strided && axis == 0 && oneIn(2)) p.stride[axis] = 1;
    if (same) p.padBefore[axis] = p.padAfter[axis] = (p.kernel[axis] - 1) * p.dilation[axis] / 2;
  }
  if (p.rank == 1 && strided && oneIn(2)) p.stride.w = std::max<std::int64_t>(1, p.kernel.w / 2);  // spectrograms
}

bool RealisticProblems::drawExtents(Problem& p, double pixels) {
  const Extents& range = kExtents[static_cast<std::size_t>(p.rank - 1)];
  Dhw big;
  double left = pixels;
  for (int axis = 3 - p.rank; axis < 3; ++axis) {
    const int axes = 3 - axis;
    // Images are up to twice as long as wide.
    const double side = std::pow(left, 1.0 / axes) * (axes > 1 && !oneIn(3) ? std::exp2((below(5) - 2) / 2.0) : 1);
    if (!inRange(side, range)) return false;
    big[axis] = std::llround(side);
    left /= side;
  }
  for (int axis = 3 - p.rank; axis < 3; ++axis) {
    const std::int64_t room =
        big[axis] + p.padBefore[axis] + p.padAfter[axis] - (p.kernel[axis] - 1) * p.dilation[axis] - 1;
    if (room < 0) return false;
    const std::int64_t small = room / p.stride[axis] + 1;
    p.in[axis] = p.transposed ? small : big[axis];
    p.out[axis] = p.transposed ? big[axis] : small;
  }
  return true;
}

void RealisticProblems::drawFormats(Problem& p) {
  constexpr DType kTypes[] = {DType::kF32, DType::kBf16, DType::kF16};
  constexpr Layout kLayouts[] = {Layout::kNcdhw, Layout::kNdhwc, Layout::kNdc1hwc0};
  p.dtype = kTypes[below(3)];
  p.layout = kLayouts[below(3)];
  p.math = oneIn(2) ? MathMode::kStrict : MathMode::kRelaxed;
  const bool blocked = p.layout == Layout::kNdc1hwc0 && oneIn(2), mixed = oneIn(4);
  for (const TensorId t : kTensorIds) {
    TensorFormat format = formatOf(p, t);
    if (isWeights(t) && blocked) format.layout = Layout::kFractalZ3d;
    if (mixed && oneIn(3)) format.dtype = kTypes[below(3)];
    if (mixed && oneIn(3) && isActivation(t)) format.layout = kLayouts[below(3)];
    if (format != formatOf(p, t)) p.formats[static_cast<std::size_t>(t)] = format;
  }
}

Problem RealisticProblems::next() {
  while (true) {
    Problem p;
    p.rank = static_cast<int>(1 + below(3));
    p.transposed = oneIn(6);
    const double elements = static_cast<double>(logUniform(kLeastElements, kMostElements));
    for (int drawn = 0; drawn < 20; ++drawn) {  // else the size is given up: not every one is common
      Problem q = p;
      q.batch = oneIn(3) ? 1 : logUniform(1, 4096);
      drawChannels(q, p.rank == 1 ? 512 : 4096);
      drawWindow(q);
      // One of the tensors has so many.
      const double widest = static_cast<double>(q.batch) * static_cast<double>(q.transposed ? q.cout : q.cin);
      if (!drawExtents(q, elements / widest)) continue;
      drawFormats(q);
      const auto largest = static_cast<double>(std::max({xElements(q), yElements(q), wElements(q)}));
      if (largest > kMostElements || static_cast<double>(wElements(q)) > kMostWeights || !checkProblem(q).ok())
        continue;
      return q;
    }
  }
}

}  // namespace cubejit
