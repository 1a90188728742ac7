// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how plans are shown: the choice and, on request, what else was considered, at which cost, and what was refused why.
#include <fmt/core.h>
#include <chrono>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>

#include "algorithms/algorithm.h"
#include "commands.h"
#include "failure.h"
#include "json_line.h"
#include "plan_npu.h"
#include "request.h"
#include "runtime/text/json_npu_report.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"
#include "runtime/tuning/measured_plans.h"
#include "runtime/tuning/plan_source.h"
#include "runtime/verify/reference_conv.h"
#include "tiling/planner.h"

namespace cubejit::cli {
namespace {

// The fields that differ from a default plan: what makes this one.
std::string brief(const TilingPlan& plan) {
  std::map<std::string, std::string> plain;
  const auto spell = [](const auto& field) {
    if constexpr (std::is_enum_v<std::decay_t<decltype(field)>>)
      return std::string(toString(field));
    else
      return fmt::format("{}", field);
  };
  TilingPlan defaults = plan;
  if (const Algorithm* algorithm = algorithmOf(plan)) defaults = algorithm->plan();
  describePlan(defaults, [&](const char* name, const auto& field) { plain[name] = spell(field); });
  std::string out = algorithmName(plan);
  describePlan(plan, [&](const char* name, const auto& field) {
    const std::string value = spell(field), key = name;
    if (value != plain[key]) out += fmt::format(" {}={}", key, value);
  });
  return out;
}

constexpr std::size_t kShown = 12;

void explain(const PlanReport& report, const MeasuredPlans& measured) {
  std::size_t legal = 0;
  fmt::print("\n{:>25} {:>51}\n", "cycles, the slowest core", "all cores together, what they do side by side");
  fmt::print("{:>12} {:>12} {:>12} {:>12} {:>12} {:>10}  {:<8} candidate\n", "predicted", "measured", "compute",
             "memory", "moves", "calls", "bound");
  std::map<std::string, std::size_t> refused;
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const PlanCandidate& c = report.candidates[i];
    if (!c.refusedBy.empty()) {
      for (const std::string& rule : c.refusedBy) ++refused[rule];
      continue;
    }
    if (legal < kShown) {
      const auto& took = measured.candidates[i];
      fmt::print("{:>12.0f} {:>12} {:>12.0f} {:>12.0f} {:>12.0f} {:>10.0f}  {:<8} {}\n", c.predictedCycles,
                 took ? fmt::format("{:.0f}", took->cycles) : "", c.computeCycles, c.memoryCycles, c.moveCycles,
                 c.callCycles, c.bound, brief(c.plan));
    }
    ++legal;
  }
  if (const auto& chosen = measured.chosen) {
    fmt::print(
        "measured, the plan chosen: {:.0f}; on all cores: {}, with what it waits for memory, {:.0f}; moving {:.0f}; "
        "walking over loops {:.0f}; waiting for work {:.0f} (cycles at {:.2f} GHz)\n",
        chosen->cycles, report.plan.pass == Pass::kDb ? "adding" : "multiplying", chosen->multiplying, chosen->moving,
        chosen->walking, chosen->waiting, measured.gigahertz);
    const auto run = std::count_if(measured.candidates.begin(), measured.candidates.end(),
                                   [](const auto& took) { return took.has_value(); });
    fmt::print("{} candidates were run, the cheapest of every value of every decision; regret {:.0f} %", run,
               100 * measured.regret());
    if (measured.regret() > 0)
      fmt::print(", against {:.0f}: {}", measured.candidates[*measured.fastest()]->cycles,
                 brief(report.candidates[*measured.fastest()].plan));
    fmt::print("\n");
  } else if (!measured.whyNot.empty())
    fmt::print("not measured: {}\n", measured.whyNot);
  fmt::print("{} legal candidates, {} refused\n", legal, report.candidates.size() - legal);
  for (const auto& [rule, count] : refused) fmt::print("  refused {} times: {}\n", count, rule);
}

struct SourcedReport {
  NpuReport report;
  PlanSource source = PlanSource::kModel;
  std::string note;
};

// A plan of the caller's for the pass, if --plan gave one, else a pin's or record's, else the planner's.
Result<SourcedReport> npuPlan(const Session& session, const Request& request, const Problem& problem, Pass pass,
                              bool explained) {
  SourcedReport out;
  for (const TilingPlan& plan : request.plans) {
    if (plan.pass != pass) continue;
    CUBEJIT_TRY(given, reportOnNpu(problem, plan, *request.soc()));
    return SourcedReport{given, PlanSource::kCaller, {}};
  }
  NpuPlanOptions options;
  options.explain = explained;
  CUBEJIT_TRY(chosen, planOnNpu(problem, pass, *request.soc(), options));
  out.report = chosen;
  CUBEJIT_TRY(found, findPlan(problem, pass, session.machine(), session.options()));
  out.source = found.source;
  out.note = found.note;
  if (!found.plan) return out;
  CUBEJIT_TRY(better, reportOnNpu(problem, *found.plan, *request.soc()));
  better.legal = chosen.legal;
  better.refused = chosen.refused;
  better.candidates = chosen.candidates;
  better.refusedBy = chosen.refusedBy;
  better.better = chosen.better;
  out.report = better;
  return out;
}

int planForSoc(const RequestFlags& flags, const Request& request, bool explained) {
  const Session session(request.options);
  PassMask mask = request.passes;
  if (mask.y || mask.dx || mask.dw) mask.db = false;  // not asked for by name: db is no product and has no plan
  int code = 0;
  for (const Problem& problem : request.problems) {
    for (const Pass pass : passesOf(mask)) {
      const auto start = std::chrono::steady_clock::now();
      const auto planned = npuPlan(session, request, problem, pass, explained);
      const double planUs = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
      const std::string again = reproduction("plan", flags, problem);
      if (!planned.ok()) {
        code = report(planned.error(), again);
        if (!request.isSuite) return code;
        continue;
      }
      if (flags.json) {
        Json out = npuReportToJson(problem, *request.soc(), planned->report);
        out["source"] = toString(planned->source);
        out["source_note"] = planned->note;
        out["plan_us"] = planUs;
        fmt::print("{}", jsonLine(out));
        continue;
      }
      printNpuReport(problem, *request.soc(), planned->report, explained);
      fmt::print("  source     {}{}{}\n", toString(planned->source), planned->note.empty() ? "" : ": ", planned->note);
      fmt::print("  repro      {}\n", again);
    }
  }
  return code;
}

std::string namesOf(const std::vector<TensorId>& tensors) {
  std::string names;
  for (const TensorId t : tensors) names += (names.empty() ? "" : ",") + std::string(toString(t));
  return names;
}

// "x 1048576 bytes, w 2304 bytes"; empty: nothing.
std::string textOf(const std::vector<TensorCopy>& copies) {
  std::string text;
  for (const TensorCopy& copy : copies)
    text += fmt::format("{}{} {} bytes", text.empty() ? "" : ", ", toString(copy.tensor), copy.bytes);
  return text;
}

Json jsonOf(const std::vector<TensorCopy>& copies) {
  Json out = Json::array();
  for (const TensorCopy& copy : copies) out.push_back({{"tensor", toString(copy.tensor)}, {"bytes", copy.bytes}});
  return out;
}

Json jsonOf(const MeasuredPlan& took) {
  if (took.multiplying <= 0) return {{"cycles", took.cycles}};
  return {{"cycles", took.cycles},
          {"multiplying", took.multiplying},
          {"moving", took.moving},
          {"walking", took.walking},
          {"waiting", took.waiting}};
}

void printCall(const Problem& problem, const CallReport& call) {
  std::string passes;
  for (const TilingPlan& plan : call.plans) passes += (passes.empty() ? "" : ",") + std::string(toString(plan.pass));
  fmt::print("{}{} in one call\n", problem.name.empty() ? "" : problem.name + ": ", passes);
  if (!call.converted.empty()) fmt::print("  converts   {} once, for all passes\n", namesOf(call.converted));
  if (call.interleaves) fmt::print("  interleaves passes over blocks of dy\n");
  if (!call.copies.empty()) fmt::print("  copies     {}\n", textOf(call.copies));
  fmt::print("  workspace  {} bytes\n", call.workspaceBytes);
}

// What the planner says, about the caller's plan if --plan gave one.
Result<PlanReport> hostPlan(const Session& session, const Request& request, const Problem& problem, Pass pass,
                            bool explained) {
  const auto given = std::find_if(request.plans.begin(), request.plans.end(),
                                  [&](const TilingPlan& plan) { return plan.pass == pass; });
  if (given == request.plans.end()) return session.plan(problem, pass, explained);
  CUBEJIT_TRY(call, session.planCall({problem, maskOf(pass), {*given}, WeightsUse::kEachRun}));  // checks it
  PlanReport report;
  if (explained) {
    CUBEJIT_TRY(chosen, session.plan(problem, pass, explained));
    report = std::move(chosen);
  }
  const PlanCost cost = planCost(problem, *given, session.machine());
  report.plan = *given;
  report.source = PlanSource::kCaller;
  report.sourceNote.clear();
  report.singleShape = singleShapeOf(problem, *given);
  report.predictedCycles = cost.totalCycles;
  report.bound = cost.bound;
  report.copies = call.copies;
  report.workspaceBytes = call.workspaceBytes;
  return report;
}

int plan(const RequestFlags& flags, bool explained, const std::string& typed) {
  const auto request = resolve(flags);
  if (!request.ok()) return report(request.error(), typed);
  if (request->soc()) return planForSoc(flags, *request, explained);
  Session session(request->options);
  int code = 0;
  for (const Problem& problem : request->problems) {
    std::optional<CallReport> together;
    if (passesOf(request->passes).size() > 1) {
      auto call = session.planCall({problem, request->passes, request->plans, WeightsUse::kEachRun});
      if (call.ok()) together = std::move(*call);  // else a pass says why not
    }
    for (const Pass pass : passesOf(request->passes)) {
      const auto start = std::chrono::steady_clock::now();
      const auto planned = hostPlan(session, *request, problem, pass, explained);
      const double planUs = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
      if (!planned.ok()) {
        code = report(planned.error(), reproduction("plan", flags, problem));
        if (!request->isSuite) return code;
        continue;
      }
      const double flops = passFlops(problem, pass);
      MeasuredPlans took;
      if (explained)
        took = measurePlans(session.options(), session.machine(), problem, planned->plan, planned->candidates);
      if (flags.json) {
        Json out{{"schema", "cubejit.plan/1"},
                 {"name", problem.name},
                 {"pass", toString(pass)},
                 {"isa", toString(session.machine().isa.level)}};
        out["plan"] = Json::parse(planToJson(planned->plan));
        out["source"] = toString(planned->source);
        out["source_note"] = planned->sourceNote;
        out["predicted_cycles"] = planned->predictedCycles;
        out["plan_us"] = planUs;
        out["bound"] = planned->bound;
        out["copies"] = jsonOf(planned->copies);
        out["workspace_bytes"] = planned->workspaceBytes;
        out["flops"] = flops;
        if (together)
          out["call"] = {{"converted", namesOf(together->converted)},
                         {"copies", jsonOf(together->copies)},
                         {"interleaves", together->interleaves},
                         {"workspace_bytes", together->workspaceBytes}};
        if (explained) {
          out["candidates"] = Json::array();
          if (took.chosen) {
            out["measured"] = jsonOf(*took.chosen);
            out["regret"] = took.regret();
          }
          for (std::size_t i = 0; i < planned->candidates.size(); ++i) {
            const PlanCandidate& c = planned->candidates[i];
            out["candidates"].push_back({{"plan", Json::parse(planToJson(c.plan))},
                                         {"predicted_cycles", c.predictedCycles},
                                         {"compute_cycles", c.computeCycles},
                                         {"memory_cycles", c.memoryCycles},
                                         {"move_cycles", c.moveCycles},
                                         {"call_cycles", c.callCycles},
                                         {"bound", c.bound},
                                         {"refused_by", c.refusedBy}});
            if (took.candidates[i]) out["candidates"].back()["measured"] = jsonOf(*took.candidates[i]);
          }
        }
        fmt::print("{}", jsonLine(out));
        continue;
      }
      fmt::print("{}{} for {} ({} cores)\n", problem.name.empty() ? "" : problem.name + ": ", toString(pass),
                 toString(session.machine().isa.level), session.machine().cores);
      fmt::print("  plan       {}\n", brief(planned->plan));
      fmt::print("  source     {}{}{}\n", toString(planned->source), planned->sourceNote.empty() ? "" : ": ",
                 planned->sourceNote);
      fmt::print("  gemm view  M {} K {} N {} a task\n", planned->singleShape.m, planned->singleShape.k,
                 planned->singleShape.n);
      const double share = 100.0 * flops / flopsPerCycle(session.machine()) / std::max(1.0, planned->predictedCycles);
      fmt::print("  predicted  {:.0f} cycles a core, bound by {}{}\n", planned->predictedCycles, planned->bound,
                 pass == Pass::kDb ? "" : fmt::format("; {:.1f} % of the peak of f32 multiply-adds", share));
      if (!planned->copies.empty()) fmt::print("  copies     {}\n", textOf(planned->copies));
      fmt::print("  workspace  {} bytes\n", planned->workspaceBytes);
      if (explained) explain(*planned, took);
      fmt::print("  repro      {}\n", reproduction("plan", flags, problem));
    }
    if (together && !flags.json) printCall(problem, *together);
  }
  return code;
}

}  // namespace

void addPlan(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("plan", "Show the tiling the planner chooses, and why");
  example(*command, "plan " + std::string(kExampleLayer) + " --passes dx --explain");
  auto flags = std::make_shared<RequestFlags>();
  auto explained = std::make_shared<bool>(false);
  addProblemFlags(*command, *flags, true);
  addRunFlags(*command, *flags);
  addSocFlag(*command, *flags);
  addEmulationFlags(*command, *flags);
  command->get_option("--fast")->description("With --for host-time: plans that were found for runs of --fast");
  command->add_flag(
      "--explain", *explained,
      "Show the candidates, their costs, what the cheapest took when they were run, and the rules that refused some");
  command->callback([&action, flags, explained] {
    action = [flags, explained](const std::string& typed) { return plan(*flags, *explained, typed); };
  });
}

}  // namespace cubejit::cli
