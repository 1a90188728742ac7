// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how often candidates are run: in turn, so that a busy moment of the machine meets all of them.
#include "runtime/tuning/measured_plans.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "runtime/tuning/measure.h"
#include "runtime/tuning/time_parts.h"

namespace cubejit {
namespace {

constexpr int kMostTimedRounds = 20, kPeaks = 4;
constexpr double kTimedSeconds = 0.5;  // for all of them; the first round is never cut

struct TimedCandidate {
  std::shared_ptr<const Executable> executable;
  TimeParts fastest{{}, std::numeric_limits<double>::infinity()};
};

// A core's multiply-adds in a cycle are what the planner's cycles count.
double gigahertzOf(const Machine& m, double gflops) {
  return gflops / (2.0 * m.isa.lanes() * vectorsPerCycle(m) * m.cores);
}

MeasuredPlan inCycles(const TimeParts& parts, double gigahertz) {
  return {parts.wall * gigahertz, parts.multiplying * gigahertz, parts.moving * gigahertz, parts.walking * gigahertz,
          parts.waiting * gigahertz};
}

}  // namespace

double vectorsPerCycle(const Machine& m) {
  return m.rates.fmaPerCycle * (m.isa.lanes() < 16 ? m.rates.halfVectors : 1.0);
}

MeasuredPlans measurePlans(const Options& options, const Machine& machine, const Problem& problem, Pass pass,
                           const std::vector<TilingPlan>& plans) {
  MeasuredPlans out;
  Options timed = options;
  timed.timeKernels = timed.pinThreads = true;
  Session session(timed);
  const auto workload = Workload::create(problem, maskOf(pass));
  if (!workload.ok()) return {{}, 0, workload.error().message};
  double peak = 0;
  for (int i = 0; i < kPeaks; ++i) {  // another process may hold a core during one of them
    const auto measured = measurePeakGflops(machine.isa.level, machine.cores, 20);
    if (!measured.ok()) return {{}, 0, measured.error().message};
    peak = std::max(peak, *measured);
  }
  out.gigahertz = gigahertzOf(machine, peak);
  std::vector<TimedCandidate> candidates;
  for (const TilingPlan& plan : plans) {
    const auto compiled = session.compile(CompileRequest{problem, maskOf(pass), {plan}});
    if (!compiled.ok()) out.whyNot = compiled.error().message;
    candidates.push_back({compiled.ok() ? *compiled : nullptr});
  }
  double spent = 0;
  for (int round = 0; round <= kMostTimedRounds && (round < 2 || spent < kTimedSeconds); ++round) {
    for (TimedCandidate& candidate : candidates) {
      if (candidate.executable == nullptr) continue;
      const RunTimes before = candidate.executable->runTimes();
      const auto ns = (*workload)->run(*candidate.executable);
      if (!ns.ok()) return {{}, 0, ns.error().message};
      if (round == 0) continue;  // warm-up
      TimeParts parts = partsOf(before, candidate.executable->runTimes(), machine.cores);
      if (parts.wall < candidate.fastest.wall) candidate.fastest = std::move(parts);
      spent += static_cast<double>(*ns) * 1e-9;
    }
  }
  for (const TimedCandidate& candidate : candidates) {
    if (candidate.executable == nullptr)
      out.plans.emplace_back();
    else
      out.plans.emplace_back(inCycles(candidate.fastest, out.gigahertz));
  }
  return out;
}

}  // namespace cubejit
