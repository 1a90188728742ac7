// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the distribution of random problems.
#include "runtime/verify/random_problem.h"

#include <algorithm>
#include <cmath>

#include "cubejit/index_map.h"
#include "runtime/verify/reference_conv.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

class Dice {
 public:
  explicit Dice(std::mt19937_64& random) : random_(random) {}
  // std:: distributions differ between libraries; a remainder does not.
  std::int64_t in(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(hi - lo + 1));
  }
  bool oneIn(int n) { return in(1, n) == 1; }

 private:
  std::mt19937_64& random_;
};

void channels(Dice& dice, Problem& p) {
  switch (dice.in(0, 4)) {
    case 0:  // depthwise, with channel multipliers
      p.groups = dice.in(1, 40);
      p.cin = p.groups;
      p.cout = p.groups * dice.in(1, 3);
      break;
    case 1:  // a few channels a group
      p.groups = dice.in(2, 12);
      p.cin = p.groups * dice.in(1, 9);
      p.cout = p.groups * dice.in(1, 9);
      break;
    case 2:  // first layers
      p.cin = dice.in(1, 4);
      p.cout = dice.in(1, 40);
      break;
    default:
      p.groups = dice.oneIn(4) ? dice.in(1, 3) : 1;
      p.cin = p.groups * dice.in(1, 70);
      p.cout = p.groups * dice.in(1, 70);
  }
}

bool geometry(Dice& dice, Problem& p) {
  for (int a = 3 - p.rank; a < 3; ++a) {
    p.in[a] = dice.in(1, a == 2 ? (p.rank == 1 ? 90 : 36) : 9);
    p.kernel[a] = dice.oneIn(3) ? 1 : dice.in(1, a == 2 ? 8 : 4);
    p.stride[a] = dice.oneIn(2) ? 1 : dice.in(1, 4);
    p.dilation[a] = dice.oneIn(3) ? dice.in(1, 4) : 1;
    p.padBefore[a] = dice.oneIn(2) ? p.dilation[a] * (p.kernel[a] - 1) / 2 : dice.in(0, 4);
    p.padAfter[a] = dice.oneIn(2) ? p.padBefore[a] : dice.in(0, 4);
    const std::int64_t reach = p.dilation[a] * (p.kernel[a] - 1);
    if (p.transposed) {
      p.out[a] = (p.in[a] - 1) * p.stride[a] - p.padBefore[a] - p.padAfter[a] + reach +
                 dice.in(0, std::max(p.stride[a], p.dilation[a]) - 1) + 1;
    } else {
      const std::int64_t room = p.in[a] + p.padBefore[a] + p.padAfter[a] - reach - 1;
      p.out[a] = room < 0 ? 0 : room / p.stride[a] + 1;
    }
    if (p.out[a] < 1) return false;
  }
  return true;
}

}  // namespace

Problem randomProblem(std::mt19937_64& random, double maxMultiplyAdds) {
  Dice dice(random);
  for (;;) {
    Problem p;
    p.rank = static_cast<int>(dice.in(1, 3));
    p.batch = dice.oneIn(25) ? 0 : dice.in(1, 3);
    p.transposed = dice.oneIn(4);
    p.layout = dice.oneIn(2) ? Layout::kNcdhw : Layout::kNdhwc;
    channels(dice, p);
    if (!geometry(dice, p) || insideMultiplyAdds(p) > maxMultiplyAdds || !checkProblem(p).ok()) continue;
    return p;
  }
}

void randomFormats(std::mt19937_64& random, Problem& p, bool types, bool layouts) {
  Dice dice(random);
  const auto oneType = static_cast<DType>(dice.in(0, 4));  // often the same for all
  const bool mixed = dice.oneIn(3);
  for (const TensorId t : kTensorIds) {
    const bool weights = isWeights(t), input = !isResult(t);
    TensorFormat f = formatOf(p, t);
    if (types) f.dtype = mixed ? static_cast<DType>(dice.in(0, 4)) : oneType;
    if (!input && isHf32(f.dtype)) f.dtype = DType::kF32;
    if (layouts && t != TensorId::kDb) {
      const Layout blocked = weights ? Layout::kFractalZ3d : Layout::kNdc1hwc0;
      f.layout = dice.oneIn(3) ? blocked : dice.oneIn(2) ? Layout::kNcdhw : Layout::kNdhwc;
      if (f.layout == blocked && dice.oneIn(3))
        f.c0 = weights ? (dice.oneIn(2) ? 16 : 8) : std::int64_t{1} << dice.in(0, 6);
      if (input && f.layout != blocked && dice.oneIn(5)) {  // a dense order of its own, with gaps
        std::int64_t stride = dice.in(1, 2);
        const IndexMap map = indexMap(p, t);
        for (const std::size_t axis :
             dice.oneIn(2) ? std::array<std::size_t, 5>{4, 1, 3, 2, 0} : std::array<std::size_t, 5>{3, 4, 2, 0, 1}) {
          f.strides[axis] = stride;
          stride *= (axis == 1 ? map.extent[1] / map.groups : map.extent[axis]) + dice.in(0, 1);
        }
      }
    }
    p.formats[static_cast<std::size_t>(t)] = f;
  }
}

void fitRelaxedMath(std::mt19937_64& random, Problem& p) {
  Dice dice(random);
  p.math = MathMode::kRelaxed;
  p.batch = std::max<std::int64_t>(1, p.batch);
  p.stride = p.dilation = Dhw{1, 1, 1};
  const auto always = static_cast<int>(dice.in(3 - p.rank, 2));  // an axis that has taps
  const bool strided = dice.oneIn(3);
  for (int a = 3 - p.rank; a < 3; ++a) {
    p.kernel[a] = a == always || !dice.oneIn(4) ? dice.in(2, p.rank == 3 ? 5 : 7) : 1;
    const bool taps = p.kernel[a] > 1;
    if (strided && taps) p.stride[a] = dice.in(1, std::min<std::int64_t>(p.rank == 1 ? 3 : 2, p.kernel[a] - 1));
    p.padBefore[a] = taps ? dice.in(0, p.kernel[a]) : 0;
    p.padAfter[a] = taps ? dice.in(0, p.kernel[a]) : 0;
    // The big tensor and its padding hold `small` windows, and may have positions behind the last.
    const std::int64_t padding = p.padBefore[a] + p.padAfter[a], reach = p.kernel[a] - 1;
    std::int64_t small = dice.in(1, p.rank == 3 ? 9 : 20);
    while ((small - 1) * p.stride[a] + reach + 1 - padding < 1) ++small;
    const std::int64_t big = (small - 1) * p.stride[a] + reach + 1 - padding + dice.in(0, p.stride[a] - 1);
    p.in[a] = p.transposed ? small : big;
    p.out[a] = p.transposed ? big : small;
  }
}

namespace {

// Slopes are read where dy is.
void layYAsDy(Problem& p) {
  TensorFormat dy = formatOf(p, TensorId::kDy), y = formatOf(p, TensorId::kY);
  dy.strides = {};
  y.layout = dy.layout;
  y.c0 = dy.layout == Layout::kNdc1hwc0 ? dy.blockChannels() : 0;
  p.formats[static_cast<std::size_t>(TensorId::kDy)] = dy;
  p.formats[static_cast<std::size_t>(TensorId::kY)] = y;
}

}  // namespace

void randomPostOps(std::mt19937_64& random, Problem& p) {
  Dice dice(random);
  PostOps& post = p.postOps;
  post = {};
  post.bias = !dice.oneIn(3);
  post.add = dice.oneIn(2);
  post.activation = static_cast<Activation>(dice.in(0, 3));
  if (post.activation != Activation::kNone && !dice.oneIn(4)) layYAsDy(p);  // else backward passes are refused
  // Slopes of whole quarters keep sums of integers exact; usual ones are tenths.
  if (post.activation == Activation::kLeakyRelu)
    post.alpha = dice.oneIn(4) ? 0.1F : static_cast<float>(dice.in(-4, 8)) / 4;
  if (post.activation != Activation::kClip) return;
  const bool keepsZero = formatOf(p, TensorId::kY).layout == Layout::kNdc1hwc0;
  post.alpha = static_cast<float>(dice.in(-8, keepsZero ? 0 : 4));
  post.beta = static_cast<float>(dice.in(keepsZero ? 0 : static_cast<std::int64_t>(post.alpha), 12));
}

std::vector<float> randomIntegers(std::mt19937_64& random, std::int64_t count, double summands) {
  Dice dice(random);
  // |products| <= 16; sums below 2^24 are exact. Keep only so many non-zeros that even the worst sum stays below.
  const double density = std::min(1.0, 16777216.0 / 16.0 / std::max(1.0, summands));
  const auto threshold = static_cast<std::int64_t>(density * 1048576.0);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) {
    const auto integer = static_cast<float>(dice.in(-4, 4));
    v = dice.in(0, 1048575) < threshold ? integer : 0.0F;
  }
  return values;
}

std::vector<float> randomReals(std::mt19937_64& random, std::int64_t count) {
  Dice dice(random);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) {
    // The sum of four uniform values is close enough to a normal one.
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<float>(dice.in(-1000, 1000)) * 0.001F;
    v = sum * 0.866F;
    if (std::fabs(v) < 1e-6F) v = 0.0F;
  }
  return values;
}

}  // namespace cubejit
