// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host side of the examples: one small convolution, its tensors in the chip's formats, and plain loops that say what is right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

struct Convolution {
  int64_t n = 2, cin = 40, cout = 24;
  int64_t di = 3, hi = 12, wi = 10, kd = 2, kh = 3, kw = 3;
  int64_t padD = 0, padH = 1, padW = 1, strideH = 2, strideW = 1;
  int64_t dout() const { return di + 2 * padD - kd + 1; }
  int64_t ho() const { return (hi + 2 * padH - kh) / strideH + 1; }
  int64_t wo() const { return (wi + 2 * padW - kw) / strideW + 1; }

  // Small integers, so that sums are exact.
  static float dy(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
    return value(n + 3 * c + 5 * d + 7 * h + w);
  }
  static float x(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
    return value(2 * n + c + 3 * d + 4 * h + 5 * w);
  }
  static float weight(int64_t o, int64_t c, int64_t d, int64_t h, int64_t w) {
    return value(o + 2 * c + d + 3 * h + 5 * w);
  }
  static float value(int64_t i) { return static_cast<float>(i % 5 - 2); }

  // Calls visit(n, dout, ho, wo, kd, kh, kw, di, hi, wi) for every pair of a pixel of y and a tap that lies inside x.
  template <class Visit>
  void forEachTap(const Visit& visit) const {
    for (int64_t b = 0; b < n; ++b)
      for (int64_t od = 0; od < dout(); ++od)
        for (int64_t oh = 0; oh < ho(); ++oh)
          for (int64_t ow = 0; ow < wo(); ++ow)
            for (int64_t d = 0; d < kd; ++d)
              for (int64_t h = 0; h < kh; ++h)
                for (int64_t w = 0; w < kw; ++w) {
                  const int64_t id = od + d - padD, ih = oh * strideH + h - padH, iw = ow * strideW + w - padW;
                  if (id >= 0 && id < di && ih >= 0 && ih < hi && iw >= 0 && iw < wi)
                    visit(b, od, oh, ow, d, h, w, id, ih, iw);
                }
  }
};

// NDC1HWC0: blocks of 16 channels, the last one filled up with zeros.
struct Blocked {
  int64_t c, d, h, w;
  int64_t blocks() const { return (c + 15) / 16; }
  std::size_t at(int64_t n, int64_t ch, int64_t dep, int64_t row, int64_t col) const {
    return static_cast<std::size_t>(((((n * d + dep) * blocks() + ch / 16) * h + row) * w + col) * 16 + ch % 16);
  }
  template <class T, class Value>
  std::vector<T> filled(int64_t n, const Value& value) const {
    std::vector<T> memory(at(n, 0, 0, 0, 0), T(0.0F));
    for (int64_t b = 0; b < n; ++b)
      for (int64_t ch = 0; ch < c; ++ch)
        for (int64_t dep = 0; dep < d; ++dep)
          for (int64_t row = 0; row < h; ++row)
            for (int64_t col = 0; col < w; ++col) memory[at(b, ch, dep, row, col)] = T(value(b, ch, dep, row, col));
    return memory;
  }
};

// FRACTAL_Z_3D: [kd][cin / 16][kh][kw][cout / 16][16][16].
struct FractalWeights {
  int64_t cout, cin, d, h, w;
  std::size_t at(int64_t o, int64_t c, int64_t dep, int64_t row, int64_t col) const {
    const int64_t cin1 = (cin + 15) / 16, cout1 = (cout + 15) / 16;
    return static_cast<std::size_t>(((((dep * cin1 + c / 16) * h + row) * w + col) * cout1 * 16 + o) * 16 + c % 16);
  }
  std::size_t elements() const { return at(0, 0, d, 0, 0); }
};
