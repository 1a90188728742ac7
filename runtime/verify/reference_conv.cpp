// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the reference: one loop over (image, small position, kernel tap), where the small tensor is y of an ordinary and x of a
// transposed convolution, and i = o*stride + k*dilation - pad is the position in the big one.
#include "runtime/verify/reference_conv.h"

#include <algorithm>
#include <cmath>

namespace cubejit {
namespace {

std::size_t indexOf(Layout layout, const Dhw& e, std::int64_t channels, std::int64_t n, std::int64_t c, std::int64_t d,
                    std::int64_t h, std::int64_t w) {
  const std::int64_t index = layout == Layout::kNcdhw ? (((n * channels + c) * e.d + d) * e.h + h) * e.w + w
                                                      : (((n * e.d + d) * e.h + h) * e.w + w) * channels + c;
  return static_cast<std::size_t>(index);
}

template <class Visit>
void forEachTap(const Problem& p, Visit visit) {
  const Dhw& small = p.transposed ? p.in : p.out;
  const Dhw& big = p.transposed ? p.out : p.in;
  for (std::int64_t od = 0; od < small.d; ++od) {
    for (std::int64_t oh = 0; oh < small.h; ++oh) {
      for (std::int64_t ow = 0; ow < small.w; ++ow) {
        for (std::int64_t kd = 0; kd < p.kernel.d; ++kd) {
          for (std::int64_t kh = 0; kh < p.kernel.h; ++kh) {
            for (std::int64_t kw = 0; kw < p.kernel.w; ++kw) {
              const Dhw o{od, oh, ow};
              const Dhw i{od * p.stride.d + kd * p.dilation.d - p.padBefore.d,
                          oh * p.stride.h + kh * p.dilation.h - p.padBefore.h,
                          ow * p.stride.w + kw * p.dilation.w - p.padBefore.w};
              if (i.d < 0 || i.h < 0 || i.w < 0 || i.d >= big.d || i.h >= big.h || i.w >= big.w) continue;
              visit(o, i, (kd * p.kernel.h + kh) * p.kernel.w + kw);
            }
          }
        }
      }
    }
  }
}

}  // namespace

ReferenceResults referenceResults(const Problem& p, PassMask mask, const std::vector<float>& dy,
                                  const std::vector<float>& x, const std::vector<float>& w) {
  ReferenceResults r;
  const auto size = [](bool wanted, std::int64_t n) {
    return std::vector<double>(wanted ? static_cast<std::size_t>(n) : 0, 0.0);
  };
  r.dx = r.dxBound = size(mask.dx, xElements(p));
  r.dw = r.dwBound = size(mask.dw, wElements(p));
  r.db = r.dbBound = size(mask.db, p.cout);
  r.y = r.yBound = size(mask.y, yElements(p));
  const std::int64_t ci = p.cin / p.groups, co = p.cout / p.groups, taps = p.kernel.volume();
  if (mask.dx || mask.dw || mask.y) {
    forEachTap(p, [&](const Dhw& o, const Dhw& i, std::int64_t tap) {
      const Dhw &xAt = p.transposed ? o : i, &yAt = p.transposed ? i : o;
      for (std::int64_t n = 0; n < p.batch; ++n) {
        for (std::int64_t g = 0; g < p.groups; ++g) {
          for (std::int64_t a = 0; a < ci; ++a) {
            for (std::int64_t b = 0; b < co; ++b) {
              const std::size_t xi = indexOf(p.layout, p.in, p.cin, n, g * ci + a, xAt.d, xAt.h, xAt.w);
              const std::size_t yi = indexOf(p.layout, p.out, p.cout, n, g * co + b, yAt.d, yAt.h, yAt.w);
              const auto wi =
                  static_cast<std::size_t>((p.transposed ? (g * ci + a) * co + b : (g * co + b) * ci + a) * taps + tap);
              if (mask.dx) {
                const double product = static_cast<double>(dy[yi]) * static_cast<double>(w[wi]);
                r.dx[xi] += product;
                r.dxBound[xi] += std::fabs(product);
              }
              if (mask.y) {
                const double product = static_cast<double>(x[xi]) * static_cast<double>(w[wi]);
                r.y[yi] += product;
                r.yBound[yi] += std::fabs(product);
              }
              if (mask.dw) {
                const double product = static_cast<double>(dy[yi]) * static_cast<double>(x[xi]);
                r.dw[wi] += product;
                r.dwBound[wi] += std::fabs(product);
              }
            }
          }
        }
      }
    });
  }
  for (std::size_t i = 0; mask.db && i < dy.size(); ++i) {
    const auto volume = static_cast<std::size_t>(p.out.volume()), channels = static_cast<std::size_t>(p.cout);
    const std::size_t c = p.layout == Layout::kNdhwc ? i % channels : i / volume % channels;
    r.db[c] += static_cast<double>(dy[i]);
    r.dbBound[c] += std::fabs(static_cast<double>(dy[i]));
  }
  return r;
}

double insideMultiplyAdds(const Problem& p) {
  const Dhw& small = p.transposed ? p.in : p.out;
  const Dhw& big = p.transposed ? p.out : p.in;
  double total = static_cast<double>(p.batch) * static_cast<double>(p.cin) * static_cast<double>(p.cout / p.groups);
  for (int a = 0; a < 3; ++a) {
    double pairs = 0;
    for (std::int64_t k = 0; k < p.kernel[a]; ++k) {
      // o in [0, small) with 0 <= o*stride + shift < big
      const std::int64_t shift = k * p.dilation[a] - p.padBefore[a], s = p.stride[a];
      const std::int64_t lo = shift >= 0 ? 0 : (-shift + s - 1) / s;
      const std::int64_t last = big[a] - 1 - shift;
      const std::int64_t hi = last < 0 ? 0 : std::min(small[a], last / s + 1);
      pairs += static_cast<double>(std::max<std::int64_t>(0, hi - lo));
    }
    total *= pairs;
  }
  return total;
}

double passFlops(const Problem& p, Pass pass) {
  return pass == Pass::kDb ? static_cast<double>(yElements(p)) : 2.0 * insideMultiplyAdds(p);
}

}  // namespace cubejit
