// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which elements are looked at and gathers them: i = o*stride + k*dilation - pad relates position o of the small tensor
// (y of an ordinary, x of a transposed convolution) to position i of the big one.
#include "runtime/verify/sampled_pass.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace cubejit {
namespace {

struct Position {
  std::int64_t n = 0, c = 0;
  Dhw at;
};

class Gather {
 public:
  Gather(const Problem& p, const std::vector<float>& dy, const std::vector<float>& x, const std::vector<float>& w)
      : p_(p), dy_(dy), x_(x), w_(w), ci_(p.cin / p.groups), co_(p.cout / p.groups) {}

  SampledElement dx(const Position& at) const {
    SampledElement e{activation(p_.in, p_.cin, at), 0, 0};
    const std::int64_t group = at.c / ci_;
    eachTap([&](const Dhw& k, std::int64_t tap) {
      Position from{at.n, 0, {}};
      if (!(p_.transposed ? toBig(at.at, k, p_.out, from.at) : toSmall(at.at, k, p_.out, from.at))) return;
      for (std::int64_t b = 0; b < co_; ++b) {
        from.c = group * co_ + b;
        add(e, dy_[activation(p_.out, p_.cout, from)], w_[weight(at.c, from.c, tap)]);
      }
    });
    return e;
  }

  SampledElement y(const Position& at) const {
    SampledElement e{activation(p_.out, p_.cout, at), 0, 0};
    const std::int64_t group = at.c / co_;
    eachTap([&](const Dhw& k, std::int64_t tap) {
      Position from{at.n, 0, {}};
      if (!(p_.transposed ? toSmall(at.at, k, p_.in, from.at) : toBig(at.at, k, p_.in, from.at))) return;
      for (std::int64_t a = 0; a < ci_; ++a) {
        from.c = group * ci_ + a;
        add(e, x_[activation(p_.in, p_.cin, from)], w_[weight(from.c, at.c, tap)]);
      }
    });
    return e;
  }

  /// `y` and `x` are channels of one group.
  SampledElement dw(std::int64_t y, std::int64_t x, const Dhw& k) const {
    SampledElement e{weight(x, y, (k.d * p_.kernel.h + k.h) * p_.kernel.w + k.w), 0, 0};
    const Dhw& small = p_.transposed ? p_.in : p_.out;
    const Dhw& big = p_.transposed ? p_.out : p_.in;
    Dhw o, i;
    for (std::int64_t n = 0; n < p_.batch; ++n) {
      for (o.d = 0; o.d < small.d; ++o.d) {
        for (o.h = 0; o.h < small.h; ++o.h) {
          for (o.w = 0; o.w < small.w; ++o.w) {
            if (!toBig(o, k, big, i)) continue;
            const Dhw &xAt = p_.transposed ? o : i, &yAt = p_.transposed ? i : o;
            add(e, dy_[activation(p_.out, p_.cout, {n, y, yAt})], x_[activation(p_.in, p_.cin, {n, x, xAt})]);
          }
        }
      }
    }
    return e;
  }

  SampledElement db(std::int64_t channel) const {
    SampledElement e{static_cast<std::size_t>(channel), 0, 0};
    Position at{0, channel, {}};
    for (; at.n < p_.batch; ++at.n) {
      for (at.at.d = 0; at.at.d < p_.out.d; ++at.at.d) {
        for (at.at.h = 0; at.at.h < p_.out.h; ++at.at.h) {
          for (at.at.w = 0; at.at.w < p_.out.w; ++at.at.w) add(e, dy_[activation(p_.out, p_.cout, at)], 1.0F);
        }
      }
    }
    return e;
  }

 private:
  static void add(SampledElement& e, float a, float b) {
    const double product = static_cast<double>(a) * static_cast<double>(b);
    e.value += product;
    e.bound += std::fabs(product);
  }

  std::size_t activation(const Dhw& e, std::int64_t channels, const Position& p) const {
    const std::int64_t pixel = (p.at.d * e.h + p.at.h) * e.w + p.at.w;
    return static_cast<std::size_t>(p_.layout == Layout::kNcdhw ? (p.n * channels + p.c) * e.volume() + pixel
                                                                : (p.n * e.volume() + pixel) * channels + p.c);
  }

  std::size_t weight(std::int64_t x, std::int64_t y, std::int64_t tap) const {
    const std::int64_t row = p_.transposed ? x * co_ + y % co_ : y * ci_ + x % ci_;
    return static_cast<std::size_t>(row * p_.kernel.volume() + tap);
  }

  template <class Visit>
  void eachTap(Visit visit) const {
    std::int64_t tap = 0;
    Dhw k;
    for (k.d = 0; k.d < p_.kernel.d; ++k.d) {
      for (k.h = 0; k.h < p_.kernel.h; ++k.h) {
        for (k.w = 0; k.w < p_.kernel.w; ++k.w) visit(k, tap++);
      }
    }
  }

  bool toBig(const Dhw& o, const Dhw& k, const Dhw& big, Dhw& i) const {
    for (int a = 0; a < 3; ++a) {
      i[a] = o[a] * p_.stride[a] + k[a] * p_.dilation[a] - p_.padBefore[a];
      if (i[a] < 0 || i[a] >= big[a]) return false;
    }
    return true;
  }

  bool toSmall(const Dhw& i, const Dhw& k, const Dhw& small, Dhw& o) const {
    for (int a = 0; a < 3; ++a) {
      const std::int64_t scaled = i[a] + p_.padBefore[a] - k[a] * p_.dilation[a];
      if (scaled < 0 || scaled % p_.stride[a] != 0) return false;
      o[a] = scaled / p_.stride[a];
      if (o[a] >= small[a]) return false;
    }
    return true;
  }

  const Problem& p_;
  const std::vector<float>&dy_, &x_, &w_;
  std::int64_t ci_, co_;
};

std::int64_t below(std::mt19937_64& random, std::int64_t count) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
}

// Element `number` of `count`: the first, the last, then random ones, every other one within two of an edge on each axis.
Dhw pick(std::mt19937_64& random, const Dhw& extent, std::int64_t number) {
  Dhw at;
  for (int a = 0; a < 3; ++a) {
    const std::int64_t e = extent[a], depth = std::min<std::int64_t>(2, e);
    at[a] = number == 0        ? 0
            : number == 1      ? e - 1
            : number % 2 == 0  ? below(random, e)
            : random() % 2 > 0 ? below(random, depth)
                               : e - 1 - below(random, depth);
  }
  return at;
}

}  // namespace

std::vector<SampledElement> sampledPass(const Problem& p, Pass pass, double multiplyAdds, std::uint64_t seed,
                                        const std::vector<float>& dy, const std::vector<float>& x,
                                        const std::vector<float>& w) {
  std::mt19937_64 random(seed);
  const Gather gather(p, dy, x, w);
  const std::int64_t elements = pass == Pass::kDx   ? xElements(p)
                                : pass == Pass::kDw ? wElements(p)
                                : pass == Pass::kY  ? yElements(p)
                                                    : bElements(p);
  const double pixels = static_cast<double>(p.batch * (p.transposed ? p.in : p.out).volume());
  // An element of dx (of y, if transposed) meets one tap in each stride; the others are only looked at.
  const double taps = static_cast<double>(p.kernel.volume());
  const bool all = p.transposed == (pass == Pass::kDx);
  const double met = all ? taps : std::min(taps, std::ceil(taps / static_cast<double>(p.stride.volume())));
  const std::int64_t summed = (pass == Pass::kDx ? p.cout : p.cin) / p.groups;
  const bool ofTaps = pass == Pass::kDx || pass == Pass::kY;
  const double perElement = ofTaps ? std::max(taps, met * static_cast<double>(summed)) : pixels;
  const double affordable = multiplyAdds / std::max(1.0, perElement);
  const auto samples = std::min(elements, static_cast<std::int64_t>(std::clamp(affordable, 16.0, 1e6)));
  const std::int64_t ci = p.cin / p.groups, co = p.cout / p.groups;
  std::vector<SampledElement> result;
  for (std::int64_t s = 0; s < samples; ++s) {
    const auto index = [&](std::int64_t count) { return s == 0 ? 0 : s == 1 ? count - 1 : below(random, count); };
    if (pass == Pass::kDx) {
      const std::int64_t n = index(p.batch), c = index(p.cin);
      result.push_back(gather.dx({n, c, pick(random, p.in, s)}));
    } else if (pass == Pass::kY) {
      const std::int64_t n = index(p.batch), c = index(p.cout);
      result.push_back(gather.y({n, c, pick(random, p.out, s)}));
    } else if (pass == Pass::kDw) {
      const std::int64_t group = index(p.groups), y = index(co), xc = index(ci);
      result.push_back(gather.dw(group * co + y, group * ci + xc, pick(random, p.kernel, s)));
    } else {
      result.push_back(gather.db(index(p.cout)));
    }
  }
  return result;
}

}  // namespace cubejit
