// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the fields of each event; docs/howto/watch_a_program.md lists them.
#include "runtime/diagnose/report.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "runtime/diagnose/verbose.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

// The register block, and what else tells plans of a family apart at a glance.
std::string blockText(const TilingPlan& plan) {
  std::string text;
  describePlan(plan, [&](const char* name, const auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::int64_t>) {
      if (std::string_view(name).substr(0, 9) == "register_" && field > 1)
        text += (text.empty() ? "" : "x") + std::to_string(field);
    }
  });
  return text.empty() ? "1" : text;
}

std::string percentMore(double cycles, double best) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f%%", best > 0 ? (cycles / best - 1) * 100 : 0.0);
  return text;
}

// The word for a plan's source: the planner's is not found somewhere, but made.
const char* sourceName(PlanSource source) { return source == PlanSource::kModel ? "planner" : toString(source); }

std::string whyPlan(const CompiledPass& part, const PlanChoice& choice, std::size_t legal, const Candidate* next,
                    const Options& options) {
  switch (part.source) {
    case PlanSource::kCaller: return "the plan was given by the caller";
    case PlanSource::kPin: return "pinned in " + options.pins;
    case PlanSource::kRecord: return "the fastest of those that tuning measured";
    case PlanSource::kModel: break;
  }
  return "fewest predicted cycles of " + std::to_string(legal) + " legal plans" +
         (next == nullptr ? std::string()
                          : "; next: " + planFamily(next->plan) + " block " + blockText(next->plan) + " " +
                                percentMore(next->cost.totalCycles, choice.cost.totalCycles));
}

void reportPlan(const Options& options, const CompiledPass& part, const Machine& machine) {
  const auto choice = choosePlan(part.problem, part.plan.pass, machine, true);
  if (!choice.ok()) return;
  std::size_t legal = 0;
  const Candidate* next = nullptr;
  for (const Candidate& c : choice->considered) {
    if (!c.refusedBy.empty()) continue;
    if (++legal == 2) next = &c;
  }
  const PlanCost cost = planCost(part.problem, part.plan, machine);
  logEvent(options.diagnostics, Topic::kPlan, part.tile.name,
           {{"pass", toString(part.plan.pass)},
            {"source", sourceName(part.source)},
            {"algorithm", planFamily(part.plan)},
            {"block", blockText(part.plan)},
            {"cycles", cost.totalCycles},
            {"bound", cost.bound},
            {"legal", legal},
            {"refused", choice->considered.size() - legal},
            {"why", whyPlan(part, *choice, legal, next, options)}});
}

std::size_t codeBytes(const Executable::State& state) {
  std::size_t bytes = 0;
  for (const auto& part : state.parts) {
    for (const Code& code : part->codes) bytes += code.bytes.size();
  }
  return bytes;
}

}  // namespace

std::string programOf(const Executable::State& state) {
  return state.parts.empty() ? std::string() : state.parts.front()->tile.name;
}

void reportCompiled(const Executable::State& state, const Machine& machine) {
  const Diagnostics& d = state.options.diagnostics;
  for (const auto& part : state.parts) {
    if (logs(d, Topic::kPlan)) reportPlan(state.options, *part, machine);
    logEvent(d, Topic::kDispatch, part->tile.name,
             {{"pass", toString(part->plan.pass)},
              {"isa", toString(state.isa.level)},
              {"isa_why", state.options.isa ? "asked for" : "best this CPU and operating system run"},
              {"backend", toString(state.options.backend)},
              {"backend_why", state.options.backend == Options{}.backend ? "default" : "asked for"},
              {"kernels", part->tile.kernels.size()},
              {"phases", part->tile.phases.size()}});
  }
  const StageTimes& t = state.times;
  logEvent(d, Topic::kProfile, programOf(state),
           {{"event", "compile"},
            {"plan_us", t.planNs / 1000},
            {"lower_us", t.lowerNs / 1000},
            {"generate_us", t.generateNs / 1000},
            {"kernels", t.kernels},
            {"code_bytes", codeBytes(state)}});
}

void reportRun(const Executable::State& state, std::int64_t nanoseconds, int threads) {
  logEvent(state.options.diagnostics, Topic::kProfile, programOf(state),
           {{"event", "run"}, {"us", nanoseconds / 1000}, {"threads", threads}});
}

void reportLookUp(const Diagnostics& diagnostics, const CacheLookUp& lookUp, const std::string& program,
                  const std::pair<const char*, EventValue>& what) {
  if (lookUp.evicted > 0) logEvent(diagnostics, Topic::kCache, "-", {{"event", "evict"}, {"entries", lookUp.evicted}});
  logEvent(diagnostics, Topic::kCache, program, {{"event", lookUp.hit ? "hit" : "miss"}, what});
}

}  // namespace cubejit
