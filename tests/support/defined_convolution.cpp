// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond problem.h, layout.h and post_ops.h: it is their text as loops.
#include "tests/support/defined_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cubejit/float16.h"

namespace cubejit {
namespace {

std::int64_t sizeOf(DType type) { return type == DType::kF16 || type == DType::kBf16 ? 2 : 4; }

std::array<std::int64_t, 5> activation(const Problem& p, std::int64_t channels, const Dhw& e) {
  return {p.batch, channels, e.d, e.h, e.w};
}

std::array<std::int64_t, 5> weights(const Problem& p) {
  const std::int64_t outer = p.transposed ? p.cin : p.cout, inner = p.transposed ? p.cout : p.cin;
  return {outer, inner / p.groups, p.kernel.d, p.kernel.h, p.kernel.w};
}

// Post-ops are in f32, whose every step is rounded.
double f32(double value) { return static_cast<double>(static_cast<float>(value)); }

double activated(const PostOps& post, double v) {
  const auto alpha = static_cast<double>(post.alpha), beta = static_cast<double>(post.beta);
  if (std::isnan(v)) return v;
  if (post.activation == Activation::kRelu) return v > 0 ? v : 0;
  if (post.activation == Activation::kLeakyRelu) return v > 0 ? v : f32(alpha * v);
  if (post.activation == Activation::kClip) return std::min(std::max(v, alpha), beta);
  return v;
}

double slope(const PostOps& post, double y) {
  const auto alpha = static_cast<double>(post.alpha), beta = static_cast<double>(post.beta);
  if (post.activation == Activation::kRelu) return y <= 0 ? 0 : 1;
  if (post.activation == Activation::kLeakyRelu) return y > 0 ? 1 : alpha;
  if (post.activation == Activation::kClip) return y <= alpha || y >= beta ? 0 : 1;
  return 1;
}

}  // namespace

double nearestOf(DType type, double value) {
  if (type != DType::kF16 && type != DType::kBf16) return f32(value);
  if (value == 0 || !std::isfinite(value)) return value;
  const int digits = type == DType::kF16 ? 11 : 8, least = type == DType::kF16 ? -14 : -126;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(value), least) - (digits - 1)),
               largest = type == DType::kF16 ? 65504.0 : std::ldexp(255.0, 120);
  const double rounded = std::nearbyint(value / unit) * unit;
  return std::fabs(rounded) > largest ? std::copysign(HUGE_VAL, value) : rounded;
}

PlacedTensor::PlacedTensor(const TensorFormat& format, const std::array<std::int64_t, 5>& extent)
    : format_(format), extent_(extent), size_(elements() * sizeOf(format.dtype)), memory_(size_, Fence::kBehind) {
  values.resize(static_cast<std::size_t>(extent[0] * extent[1] * extent[2] * extent[3] * extent[4]));
  std::memset(memory_.data(), 0xff, static_cast<std::size_t>(size_));
}

std::size_t PlacedTensor::indexOf(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h,
                                  std::int64_t w) const {
  return static_cast<std::size_t>((((n * extent_[1] + c) * extent_[2] + d) * extent_[3] + h) * extent_[4] + w);
}

std::int64_t PlacedTensor::elements() const {
  const std::int64_t c0 = format_.layout == Layout::kNdc1hwc0 ? format_.blockChannels() : 1;
  return extent_[0] * ((extent_[1] + c0 - 1) / c0 * c0) * extent_[2] * extent_[3] * extent_[4];
}

std::int64_t PlacedTensor::placeOf(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h,
                                   std::int64_t w) const {
  const std::int64_t channels = extent_[1], depth = extent_[2], rows = extent_[3], columns = extent_[4];
  if (format_.layout == Layout::kNcdhw) return (((n * channels + c) * depth + d) * rows + h) * columns + w;
  if (format_.layout == Layout::kNdhwc) return (((n * depth + d) * rows + h) * columns + w) * channels + c;
  const std::int64_t c0 = format_.blockChannels(), c1 = (channels + c0 - 1) / c0;
  return ((((n * depth + d) * c1 + c / c0) * rows + h) * columns + w) * c0 + c % c0;
}

template <class Visit>
void PlacedTensor::forEach(Visit visit) const {
  for (std::int64_t n = 0; n < extent_[0]; ++n) {
    for (std::int64_t c = 0; c < extent_[1]; ++c) {
      for (std::int64_t d = 0; d < extent_[2]; ++d) {
        for (std::int64_t h = 0; h < extent_[3]; ++h) {
          for (std::int64_t w = 0; w < extent_[4]; ++w) visit(indexOf(n, c, d, h, w), placeOf(n, c, d, h, w));
        }
      }
    }
  }
}

void PlacedTensor::store() {
  forEach([&](std::size_t index, std::int64_t place) {
    const auto value = static_cast<float>(values[index] = nearestOf(format_.dtype, values[index]));
    const std::uint32_t word = bitsOf(value);
    const std::uint16_t half = format_.dtype == DType::kF16 ? floatToF16(value) : floatToBf16(value);
    char* const at = memory_.data() + place * sizeOf(format_.dtype);
    sizeOf(format_.dtype) == 4 ? std::memcpy(at, &word, 4) : std::memcpy(at, &half, 2);
  });
}

std::string PlacedTensor::difference() const {
  const std::int64_t size = sizeOf(format_.dtype);
  std::vector<bool> stands(static_cast<std::size_t>(elements()));
  std::string text;
  forEach([&](std::size_t index, std::int64_t place) {
    stands[static_cast<std::size_t>(place)] = true;
    std::uint32_t word = 0;
    std::memcpy(&word, memory_.data() + place * size, static_cast<std::size_t>(size));
    const auto half = static_cast<std::uint16_t>(word);
    const auto got = static_cast<double>(size == 4                      ? floatOf(word)
                                         : format_.dtype == DType::kF16 ? f16ToFloat(half)
                                                                        : bf16ToFloat(half));
    const double want = nearestOf(format_.dtype, values[index]);
    if (text.empty() && got != want && !(std::isnan(got) && std::isnan(want)))
      text = "element " + std::to_string(index) + " (plain order) is " + std::to_string(got) + ", not " +
             std::to_string(want);
  });
  for (std::int64_t i = 0; i < elements() && text.empty(); ++i) {
    const char zero[4] = {};
    if (!stands[static_cast<std::size_t>(i)] &&
        std::memcmp(memory_.data() + i * size, zero, static_cast<std::size_t>(size)) != 0)
      text = "element " + std::to_string(i) + " of memory stands for nothing and is not zero";
  }
  return text;
}

DefinedConvolution::DefinedConvolution(const Problem& problem)
    : p(problem),
      x(formatOf(p, TensorId::kX), activation(p, p.cin, p.in)),
      w(formatOf(p, TensorId::kW), weights(p)),
      y(formatOf(p, TensorId::kY), activation(p, p.cout, p.out)),
      dy(formatOf(p, TensorId::kDy), activation(p, p.cout, p.out)),
      dx(formatOf(p, TensorId::kDx), activation(p, p.cin, p.in)),
      dw(formatOf(p, TensorId::kDw), weights(p)),
      b(formatOf(p, TensorId::kB), {1, p.cout, 1, 1, 1}),
      db(formatOf(p, TensorId::kDb), {1, p.cout, 1, 1, 1}),
      z(formatOf(p, TensorId::kY), activation(p, p.cout, p.out)) {}

// Calls visit(indices of x, w, y): of an ordinary convolution the windows lie in x, of a transposed one in y.
template <class Visit>
void DefinedConvolution::forEachProduct(Visit visit) const {
  const PlacedTensor &small = p.transposed ? x : y, &big = p.transposed ? y : x;
  const std::int64_t ofSmall = small.extent()[1] / p.groups, ofBig = big.extent()[1] / p.groups;
  const Dhw &steps = p.transposed ? p.in : p.out, &within = p.transposed ? p.out : p.in;
  const auto each = [](const Dhw& extent, auto body) {
    for (std::int64_t d = 0; d < extent.d; ++d) {
      for (std::int64_t h = 0; h < extent.h; ++h) {
        for (std::int64_t c = 0; c < extent.w; ++c) body(Dhw{d, h, c});
      }
    }
  };
  for (std::int64_t n = 0; n < p.batch; ++n) {
    for (std::int64_t s = 0; s < small.extent()[1]; ++s) {
      for (std::int64_t i = 0; i < ofBig; ++i) {
        each(steps, [&](const Dhw& at) {
          each(p.kernel, [&](const Dhw& k) {
            Dhw to;
            for (int a = 0; a < 3; ++a) {
              to[a] = at[a] * p.stride[a] + k[a] * p.dilation[a] - p.padBefore[a];
              if (to[a] < 0 || to[a] >= within[a]) return;
            }
            const std::size_t inSmall = small.indexOf(n, s, at.d, at.h, at.w),
                              inBig = big.indexOf(n, s / ofSmall * ofBig + i, to.d, to.h, to.w),
                              inW = w.indexOf(s, i, k.d, k.h, k.w);
            p.transposed ? visit(inSmall, inW, inBig) : visit(inBig, inW, inSmall);
          });
        });
      }
    }
  }
}

void DefinedConvolution::forward() {
  std::fill(y.values.begin(), y.values.end(), 0.0);
  forEachProduct([&](std::size_t ix, std::size_t iw, std::size_t iy) { y.values[iy] += x.values[ix] * w.values[iw]; });
  const auto pixels = static_cast<std::size_t>(p.out.volume()), channels = static_cast<std::size_t>(p.cout);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    double v = f32(y.values[i]);
    if (p.postOps.bias) v = f32(v + b.values[i / pixels % channels]);
    if (p.postOps.add) v = f32(v + z.values[i]);
    y.values[i] = activated(p.postOps, v);
  }
}

void DefinedConvolution::backward() {
  std::vector<double> sloped = dy.values;
  const auto pixels = static_cast<std::size_t>(p.out.volume()), channels = static_cast<std::size_t>(p.cout);
  for (std::vector<double>* values : {&dx.values, &dw.values, &db.values})
    std::fill(values->begin(), values->end(), 0.0);
  for (std::size_t i = 0; i < sloped.size(); ++i) {
    sloped[i] = nearestOf(formatOf(p, TensorId::kDy).dtype, sloped[i] * slope(p.postOps, y.values[i]));
    db.values[i / pixels % channels] += sloped[i];
  }
  forEachProduct([&](std::size_t ix, std::size_t iw, std::size_t iy) {
    dx.values[ix] += sloped[iy] * w.values[iw];
    dw.values[iw] += sloped[iy] * x.values[ix];
  });
}

}  // namespace cubejit
