// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the shares of a breakdown; thread time is the time of a run times its threads.
#include "breakdown.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace cubejit::cli {
namespace {

// The share of the peak while kernels multiply.
double rateOf(const BreakdownOf& what) {
  const double known = what.parts.multiplying / what.threads * what.peakGflops;
  return known > 0 ? what.flops / known : 0.0;
}

}  // namespace

Json breakdownJson(const BreakdownOf& what) {
  const TimeParts& parts = what.parts;
  Json out{{"run_ns", parts.wall},
           {"multiplying", parts.multiplying / parts.all},
           {"moving", parts.moving / parts.all},
           {"walking", parts.walking / parts.all},
           {"waiting", parts.waiting / parts.all},
           {"kernels", Json::array()}};
  if (what.peakGflops > 0) out["peak_fraction_multiplying"] = rateOf(what);
  for (const TimeParts::Kernel& k : parts.kernels)
    out["kernels"].push_back(
        Json{{"kernel", k.name}, {"multiplies", k.multiplies}, {"calls", k.calls}, {"share", k.ns / parts.all}});
  return out;
}

void printBreakdown(const BreakdownOf& what) {
  const TimeParts& parts = what.parts;
  const auto line = [&](double ns, const std::string& text) {
    fmt::print("  {:>5.1f} %  {}\n", 100 * ns / parts.all, text);
  };
  const bool multiplies = what.peakGflops > 0;
  fmt::print("  of the fastest of these runs, {:.3f} ms:\n", parts.wall * 1e-6);
  line(parts.multiplying,
       multiplies ? fmt::format("multiplying, at {:.1f} % of the peak", 100 * rateOf(what)) : "adding up dy");
  line(parts.moving, "moving: packing, converting, adding");
  line(parts.walking, "walking over loops and addresses between kernels");
  line(parts.waiting, fmt::format("waiting: {} threads x {:.3f} ms, less the above", what.threads, parts.wall * 1e-6));
  constexpr std::size_t kMost = 6;
  for (std::size_t i = 0; i < std::min(kMost, parts.kernels.size()); ++i) {
    const TimeParts::Kernel& k = parts.kernels[i];
    line(k.ns, fmt::format("  {} {}: {:.0f} calls of {:.2f} us",
                           !k.multiplies ? "moves"
                           : multiplies  ? "multiplies"
                                         : "adds",
                           k.name, k.calls, k.ns / k.calls * 1e-3));
  }
  if (parts.kernels.size() > kMost) fmt::print("           ... and {} more\n", parts.kernels.size() - kMost);
}

}  // namespace cubejit::cli
