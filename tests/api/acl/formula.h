// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is right: the documented formulas of convolutions and their gradients in double, one loop each, sharing nothing with the library.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace acl_test {

using Five = std::array<std::int64_t, 5>;  // n, c, d, h, w; weights: o, i, d, h, w

inline std::int64_t volume(const Five& f) { return f[0] * f[1] * f[2] * f[3] * f[4]; }
inline std::int64_t at(const Five& f, std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w) {
  return (((n * f[1] + c) * f[2] + d) * f[3] + h) * f[4] + w;
}

struct Geometry {
  Five x{1, 1, 1, 1, 1}, w{1, 1, 1, 1, 1}, y{1, 1, 1, 1, 1};
  std::array<std::int64_t, 3> stride{1, 1, 1}, dilation{1, 1, 1}, before{}, after{};
  std::int64_t groups = 1;
  bool transposed = false;
};

struct Gradients {
  std::vector<double> dx, dw, db, y;                  // y without a bias
  std::vector<double> dxSize, dwSize, dbSize, ySize;  // sums of |products|: what rounding errors are relative to
};

/// w[s][b][q] relates a small tensor to a big one by i = o*stride - padBefore + q*dilation; ordinary: y is small, x is big.
inline Gradients formula(const Geometry& g, const std::vector<double>& dy, const std::vector<double>& x,
                         const std::vector<double>& w) {
  const Five &small = g.transposed ? g.x : g.y, &big = g.transposed ? g.y : g.x;
  const std::vector<double>&smallValues = g.transposed ? x : dy, &bigValues = g.transposed ? dy : x;
  Gradients r;
  r.dx.assign(x.size(), 0), r.dw.assign(w.size(), 0), r.db.assign(static_cast<std::size_t>(g.y[1]), 0);
  r.y.assign(static_cast<std::size_t>(volume(g.y)), 0);
  r.dxSize = r.dx, r.dwSize = r.dw, r.dbSize = r.db, r.ySize = r.y;
  const std::int64_t smallGroup = small[1] / g.groups, bigGroup = big[1] / g.groups;
  const auto add = [](std::vector<double>& sum, std::vector<double>& size, std::int64_t i, double product) {
    sum[static_cast<std::size_t>(i)] += product;
    size[static_cast<std::size_t>(i)] += product < 0 ? -product : product;
  };
  const auto tap = [&](std::int64_t n, std::int64_t s, std::int64_t b, std::int64_t od, std::int64_t oh,
                       std::int64_t ow, std::int64_t qd, std::int64_t qh, std::int64_t qw) {
    const std::int64_t id = od * g.stride[0] - g.before[0] + qd * g.dilation[0];
    const std::int64_t ih = oh * g.stride[1] - g.before[1] + qh * g.dilation[1];
    const std::int64_t iw = ow * g.stride[2] - g.before[2] + qw * g.dilation[2];
    if (id < 0 || id >= big[2] || ih < 0 || ih >= big[3] || iw < 0 || iw >= big[4]) return;
    const std::int64_t atSmall = at(small, n, s, od, oh, ow);
    const std::int64_t atBig = at(big, n, s / smallGroup * bigGroup + b, id, ih, iw), atW = at(g.w, s, b, qd, qh, qw);
    const double sv = smallValues[static_cast<std::size_t>(atSmall)], bv = bigValues[static_cast<std::size_t>(atBig)];
    add(r.dw, r.dwSize, atW, sv * bv);
    const double wv = w[static_cast<std::size_t>(atW)];
    if (g.transposed) {
      add(r.dx, r.dxSize, atSmall, bv * wv);
      add(r.y, r.ySize, atBig, sv * wv);
    } else {
      add(r.dx, r.dxSize, atBig, sv * wv);
      add(r.y, r.ySize, atSmall, bv * wv);
    }
  };
  for (std::int64_t n = 0; n < small[0]; ++n)
    for (std::int64_t s = 0; s < small[1]; ++s)
      for (std::int64_t b = 0; b < bigGroup; ++b)
        for (std::int64_t od = 0; od < small[2]; ++od)
          for (std::int64_t oh = 0; oh < small[3]; ++oh)
            for (std::int64_t ow = 0; ow < small[4]; ++ow)
              for (std::int64_t qd = 0; qd < g.w[2]; ++qd)
                for (std::int64_t qh = 0; qh < g.w[3]; ++qh)
                  for (std::int64_t qw = 0; qw < g.w[4]; ++qw) tap(n, s, b, od, oh, ow, qd, qh, qw);
  const std::int64_t plane = g.y[2] * g.y[3] * g.y[4];
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(dy.size()); ++i)
    add(r.db, r.dbSize, i / plane % g.y[1], dy[static_cast<std::size_t>(i)]);
  return r;
}

}  // namespace acl_test
