// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which candidates are run, and how often: in turn, so that a busy moment of the machine meets all of them. Of dozens the fastest is
// lucky, too: it is run again beside the choice. No clock is read inside of these runs: it would wait for what a call leaves memory to do, and plans of
// short calls would lose races that they win (Zen 5, 27 taps, 75 MB of results, calls of 650 multiply-adds: 2.5 times as long).
#include "runtime/tuning/measured_plans.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/tuning/json_record.h"
#include "runtime/tuning/measure.h"
#include "runtime/tuning/time_parts.h"

namespace cubejit {
namespace {

constexpr int kMostTimedRounds = 20, kPeaks = 4;
constexpr double kTimedSeconds = 1;  // for all of them; the first two rounds are never cut
constexpr int kFewestFinalRounds = 5, kMostFinalRounds = 500;
constexpr double kFinalSeconds = 0.3;
constexpr int kClockedRuns = 5;  // of the two that are told in parts; the first is for warming up
constexpr std::size_t kCheapest = 6;

// A plan that takes longer than this many times the fastest one's time is not run again: two runs tell little, many tell much.
double mostBehind(int rounds) { return 1.0 + 2.0 / rounds; }

struct TimedPlan {
  TilingPlan plan;
  std::optional<std::size_t> candidate;  // its place among them
  std::shared_ptr<const Executable> executable;
  double ns = std::numeric_limits<double>::infinity();  // of the fastest run
  bool behind = false;
};

// Places of the cheapest candidates and, of each value of each decision, of the cheapest that has it.
std::vector<std::size_t> representatives(const std::vector<PlanCandidate>& candidates) {
  std::vector<std::size_t> out;
  std::set<std::tuple<std::string, std::string, std::int64_t>> seen;  // algorithm, decision, value
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].refusedBy.empty()) continue;
    const TilingPlan& plan = candidates[i].plan;
    bool first = out.size() < kCheapest;
    describePlan(plan, [&](const char* name, const auto& field) {
      first |= seen.emplace(algorithmName(plan), name, static_cast<std::int64_t>(field)).second;
    });
    if (first) out.push_back(i);
  }
  return out;
}

// The parts of a run, as shares of so many cycles.
MeasuredPlan inCycles(double cycles, const TimeParts& parts) {
  const double share = parts.wall > 0 ? cycles / parts.wall : 0;
  return {cycles, parts.multiplying * share, parts.moving * share, parts.walking * share, parts.waiting * share};
}

// Where the time goes, of the fastest of some runs.
Result<TimeParts> partsOfRuns(Session& clocked, Workload& workload, const CompileRequest& request, int threads) {
  const auto compiled = clocked.compile(request);
  if (!compiled.ok()) return compiled.error();
  TimeParts best{{}, std::numeric_limits<double>::infinity()};
  for (int i = 0; i < kClockedRuns; ++i) {
    const RunTimes before = (*compiled)->runTimes();
    CUBEJIT_RETURN_IF_ERROR(workload.run(**compiled));
    TimeParts parts = partsOf(before, (*compiled)->runTimes(), threads);
    if (i > 0 && parts.wall < best.wall) best = std::move(parts);
  }
  return best;
}

}  // namespace

double flopsPerCycle(const Machine& m) {
  const double vectors = m.rates.fmaPerCycle * (m.isa.lanes() < 16 ? m.rates.halfVectors : 1.0);
  return 2.0 * m.isa.lanes() * vectors * m.cores;
}

std::optional<std::size_t> MeasuredPlans::fastest() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i] && (!best || candidates[i]->cycles < candidates[*best]->cycles)) best = i;
  }
  return best;
}

double MeasuredPlans::regret() const {
  const auto best = fastest();
  return chosen && best ? std::max(0.0, chosen->cycles / candidates[*best]->cycles - 1) : 0;
}

MeasuredPlans measurePlans(const Options& options, const Machine& machine, const Problem& problem,
                           const TilingPlan& chosen, const std::vector<PlanCandidate>& candidates) {
  MeasuredPlans out;
  out.candidates.resize(candidates.size());
  const auto stopped = [&](const Error& error) {
    out.whyNot = error.message;
    return out;
  };
  Options pinned = options;
  pinned.timeKernels = false;
  pinned.pinThreads = true;
  Session session(pinned);
  const PassMask pass = maskOf(chosen.pass);
  const auto workload = Workload::create(problem, pass);
  if (!workload.ok()) return stopped(workload.error());
  double peak = 0;
  for (int i = 0; i < kPeaks; ++i) {  // another process may hold a core during one of them
    const auto measured = measurePeakGflops(machine.isa.level, machine.cores, 20);
    if (!measured.ok()) return stopped(measured.error());
    peak = std::max(peak, *measured);
  }
  out.gigahertz =
      peak / flopsPerCycle(machine);  // a core's multiply-adds in a cycle are what the planner's cycles count
  std::vector<TimedPlan> plans{{chosen, {}, nullptr}};
  const std::string identity = planIdentity(chosen);
  for (const std::size_t i : representatives(candidates)) {
    if (planIdentity(candidates[i].plan) == identity)
      plans.front().candidate = i;
    else
      plans.push_back({candidates[i].plan, i, nullptr});
  }
  for (TimedPlan& plan : plans) {
    const auto compiled = session.compile(CompileRequest{problem, pass, {plan.plan}});
    if (compiled.ok())
      plan.executable = *compiled;
    else
      out.whyNot = compiled.error().message;
  }
  double spent = 0;
  // Each plan that is not behind, once.
  const auto takeTurns = [&](bool counts) -> Status {
    for (TimedPlan& plan : plans) {
      if (plan.executable == nullptr || plan.behind) continue;
      const auto ns = (*workload)->run(*plan.executable);
      if (!ns.ok()) return ns.error();
      if (!counts) continue;
      plan.ns = std::min(plan.ns, static_cast<double>(*ns));
      spent += static_cast<double>(*ns) * 1e-9;
    }
    return Unit{};
  };
  const auto fastest = [&] {
    return std::min_element(plans.begin(), plans.end(), [](const auto& x, const auto& y) { return x.ns < y.ns; });
  };
  for (int round = 0; round <= kMostTimedRounds && (round <= 2 || spent < kTimedSeconds); ++round) {
    if (const Status ran = takeTurns(round > 0); !ran.ok()) return stopped(ran.error());  // the first is for warming up
    const double most = fastest()->ns * mostBehind(round);
    for (std::size_t i = 1; i < plans.size() && round > 0; ++i) plans[i].behind = plans[i].ns > most;
  }
  if (const auto first = fastest(); first != plans.begin()) {
    for (auto plan = plans.begin() + 1; plan != plans.end(); ++plan) plan->behind = plan != first;
    spent = 0;
    for (int round = 0; round < kMostFinalRounds && (round < kFewestFinalRounds || spent < kFinalSeconds); ++round) {
      if (const Status ran = takeTurns(true); !ran.ok()) return stopped(ran.error());
    }
  }
  pinned.timeKernels = true;
  Session clocked(pinned);
  const auto best = fastest();
  for (TimedPlan& plan : plans) {
    if (plan.executable == nullptr) continue;
    const bool chosenOne = &plan == &plans.front();
    TimeParts parts;
    if (chosenOne || &plan == &*best) {
      auto ran = partsOfRuns(clocked, **workload, CompileRequest{problem, pass, {plan.plan}}, machine.cores);
      if (!ran.ok()) return stopped(ran.error());
      parts = *std::move(ran);
    }
    const MeasuredPlan took = inCycles(plan.ns * out.gigahertz, parts);
    if (plan.candidate) out.candidates[*plan.candidate] = took;
    if (chosenOne) out.chosen = took;
  }
  return out;
}

}  // namespace cubejit
