// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the parts of a breakdown and their shares; thread time is the time of a run times its threads.
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

TimeParts partsOf(const RunTimes& before, const RunTimes& after, int threads) {
  TimeParts parts;
  const auto runs = static_cast<double>(std::max<std::int64_t>(1, after.runs.calls - before.runs.calls));
  parts.wall = (after.runs.nanoseconds - before.runs.nanoseconds) / runs;
  parts.all = parts.wall * threads;
  for (std::size_t i = 0; i < after.kernels.size(); ++i) {
    const KernelTime &now = after.kernels[i], &then = before.kernels[i];
    const double ns = std::max(0.0, now.time.nanoseconds - then.time.nanoseconds) / runs;  // ticks are told ever better
    (now.multiplies ? parts.multiplying : parts.moving) += ns;
    const auto calls = static_cast<double>(now.time.calls - then.time.calls) / runs;
    if (calls > 0) parts.kernels.push_back({now.kernel, now.multiplies, calls, ns});
  }
  double phases = 0;
  for (std::size_t i = 0; i < after.phases.size(); ++i)
    phases += (after.phases[i].time.nanoseconds - before.phases[i].time.nanoseconds) / runs;
  parts.walking = std::max(0.0, phases - parts.multiplying - parts.moving);
  parts.waiting = std::max(0.0, parts.all - phases);
  std::stable_sort(parts.kernels.begin(), parts.kernels.end(),
                   [](const TimeParts::Kernel& a, const TimeParts::Kernel& b) { return a.ns > b.ns; });
  return parts;
}

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
  line(parts.multiplying,
       multiplies ? fmt::format("multiplying, at {:.1f} % of the peak", 100 * rateOf(what)) : "adding up dy");
  line(parts.moving, "moving: packing, converting, adding");
  line(parts.walking, "walking over loops and addresses between kernels");
  line(parts.waiting,
       fmt::format("waiting: {} threads x {:.3f} ms a run, less the above", what.threads, parts.wall * 1e-6));
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
