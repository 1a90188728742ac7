// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what `bench` measures: median, best and spread of the same repeated runs of each problem and pass, or of all passes in one
// call, by the wall and by the processors, against the FMA peak measured in the same run on the same threads.
#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "bench_soc.h"
#include "breakdown.h"
#include "commands.h"
#include "failure.h"
#include "json_line.h"
#include "progress.h"
#include "request.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"
#include "runtime/text/problem_text.h"
#include "runtime/tuning/measure.h"
#include "runtime/tuning/race.h"
#include "runtime/verify/reference_conv.h"

namespace cubejit::cli {
namespace {

struct Sampling {
  double minSeconds = 0.25;
  int minSamples = 7;
  double maxSeconds = 5;
  bool keepWeights = false;
  bool together = false;
  bool breakdown = false;
};

// What one call computes.
struct Measurement {
  PassMask mask;
  std::string name;

  std::vector<Pass> passes() const { return passesOf(mask); }
  double flops(const Problem& p) const {
    double sum = 0;
    for (const Pass pass : passes()) sum += passFlops(p, pass);
    return sum;
  }
};

std::vector<Measurement> measurementsOf(PassMask asked, bool together) {
  if (together) {
    std::string name;
    for (const Pass pass : passesOf(asked)) name += (name.empty() ? "" : "+") + std::string(toString(pass));
    return {{asked, name}};
  }
  std::vector<Measurement> out;
  for (const Pass pass : passesOf(asked)) out.push_back({maskOf(pass), toString(pass)});
  return out;
}

struct Measured {
  std::vector<std::int64_t> samplesNs, cpuNs;
  std::size_t workspaceBytes = 0;
  StageTimes times;
  std::vector<TilingPlan> plans;  ///< as many as passes
  TimeParts fastest;              ///< of the fastest run, if kernels are timed
};

// CPU time of all threads of the process.
std::int64_t cpuTimeNs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * std::int64_t{1000000000} + now.tv_nsec;
}

Result<Measured> measure(Session& session, const Request& request, const Problem& p, const Measurement& what,
                         const Sampling& sampling) {
  const PassMask mask = what.mask;
  std::vector<TilingPlan> plans;
  for (const TilingPlan& plan : request.plans) {
    if (mask.has(plan.pass)) plans.push_back(plan);
  }
  const auto compiled =
      session.compile(CompileRequest{p, mask, plans, sampling.keepWeights ? WeightsUse::kKept : WeightsUse::kEachRun});
  if (!compiled.ok()) return compiled.error();
  Measured out;
  out.workspaceBytes = (*compiled)->workspaceBytes();
  out.times = (*compiled)->times();
  for (const Pass pass : what.passes()) out.plans.push_back((*compiled)->plan(pass));
  auto workload = Workload::create(p, mask);
  if (!workload.ok()) return workload.error();
  if (sampling.keepWeights && mask.reads(TensorId::kW)) {
    CUBEJIT_RETURN_IF_ERROR((*workload)->keepWeights(**compiled));
  }
  double spent = 0;
  for (int run = 0; spent < sampling.maxSeconds; ++run) {
    const RunTimes before = (*compiled)->runTimes();
    const std::int64_t cpuBefore = cpuTimeNs();
    CUBEJIT_TRY(ns, (*workload)->run(**compiled));
    const std::int64_t cpuNs = cpuTimeNs() - cpuBefore;
    if (run == 0) continue;  // warm-up
    if (sampling.breakdown) {
      TimeParts parts = partsOf(before, (*compiled)->runTimes(), (*compiled)->threads());
      if (out.samplesNs.empty() || parts.wall < out.fastest.wall) out.fastest = std::move(parts);
    }
    out.samplesNs.push_back(ns);
    out.cpuNs.push_back(cpuNs);
    spent += static_cast<double>(ns) * 1e-9;
    if (spent >= sampling.minSeconds && static_cast<int>(out.samplesNs.size()) >= sampling.minSamples) break;
  }
  std::sort(out.samplesNs.begin(), out.samplesNs.end());
  std::sort(out.cpuNs.begin(), out.cpuNs.end());
  return out;
}

constexpr int kPeakRepeats = 4;

int bench(const RequestFlags& flags, const Sampling& sampling, const std::string& typed) {
  auto request = resolve(flags);
  if (!request.ok()) return report(request.error(), typed);
  request->options.pinThreads = true;
  request->options.timeKernels = sampling.breakdown;
  if (request->soc()) {
    if (sampling.keepWeights || sampling.together || sampling.breakdown)
      return report(
          invalidInput("--keep-weights, --together and --breakdown are for the host; leave them or --soc out"), typed);
    return benchSoc(flags, *request, sampling.minSeconds, sampling.minSamples);
  }
  Session session(request->options);
  if (const Status usable = session.status(); !usable.ok()) return report(usable.error(), typed);
  const int threads = request->threads[0];
  const IsaLevel isa = session.machine().isa.level;
  const DType type = formatOf(request->problems.front(), TensorId::kDy).dtype;
  auto peak = measurePeakGflops(isa, threads, 60, type);
  if (!peak.ok()) return report(peak.error(), typed);
  // A core that another process held during the whole measurement would make every fraction too good: the best of several.
  for (int again = 0; again < kPeakRepeats; ++again) {
    const auto other = measurePeakGflops(isa, threads, 60, type);
    if (other.ok() && *other > *peak) peak = other;
  }
  const std::vector<Measurement> measurements = measurementsOf(request->passes, sampling.together);
  Progress progress("bench", static_cast<std::int64_t>(request->problems.size() * measurements.size()));
  if (!flags.json)
    fmt::print("{:<32} {:<8} {:>10} {:>10} {:>7} {:>9} {:>6} {:>10} {:>8}  peak {:.1f} GFLOP/s on {} threads, {}, {}\n",
               "problem", "", "median ms", "best ms", "spread%", "GFLOP/s", "peak%", "workspace", "gen us", *peak,
               threads, toString(isa), layoutText(request->problems.front()));
  std::map<std::string, std::pair<double, int>> logSum;
  std::int64_t done = 0;
  int code = 0;
  for (const Problem& p : request->problems) {
    for (const Measurement& what : measurements) {
      progress.update(done++, p.name);
      const auto measured = measure(session, *request, p, what, sampling);
      progress.clear();
      if (!measured.ok()) {
        code = std::max(code, report(measured.error(), reproduction("bench", flags, p)));
        continue;
      }
      if (measured->samplesNs.empty()) continue;
      const std::int64_t median = measured->samplesNs[measured->samplesNs.size() / 2];
      const double spread = spreadOf(measured->samplesNs);
      const bool restless = disturbed(measured->samplesNs, 0, RaceRules{});
      const double flops = what.flops(p), gflops = flops / static_cast<double>(std::max<std::int64_t>(1, median));
      const bool multiplies =
          what.mask.dx || what.mask.dw || what.mask.y;  // db only adds: the multiplications' peak is no measure of it
      auto& [sum, count] = logSum[what.name];
      if (gflops > 0 && multiplies) {
        sum += std::log(gflops / *peak);
        ++count;
      }
      const BreakdownOf breakdown{measured->fastest, threads, flops, multiplies ? *peak : 0};
      if (flags.json) {
        Json out{{"schema", "cubejit.bench/1"},
                 {"name", p.name},
                 {"pass", what.name},
                 {"dtype", dtypeText(p)},
                 {"layout", layoutText(p)},
                 {"isa", toString(isa)},
                 {"backend", toString(request->options.backend)},
                 {"threads", threads},
                 {"ns_median", median},
                 {"ns_min", measured->samplesNs.front()},
                 {"spread", spread},
                 {"disturbed", restless},
                 {"cpu_ns_median", measured->cpuNs[measured->cpuNs.size() / 2]},
                 {"samples", measured->samplesNs.size()},
                 {"flops", flops},
                 {"gflops", gflops},
                 {"peak_gflops", *peak},
                 {"workspace_bytes", measured->workspaceBytes},
                 {"generate_us", static_cast<double>(measured->times.generateNs) * 1e-3}};
        if (multiplies) out["peak_fraction"] = gflops / *peak;
        out["plan_us"] = static_cast<double>(measured->times.planNs) * 1e-3;
        out["lower_us"] = static_cast<double>(measured->times.lowerNs) * 1e-3;
        out["kernels"] = measured->times.kernels;
        for (const TilingPlan& plan : measured->plans) {
          const Json text = Json::parse(planToJson(plan));
          if (sampling.together)
            out["plans"].push_back(text);
          else
            out["plan"] = text;
        }
        if (sampling.breakdown) out["breakdown"] = breakdownJson(breakdown);
        fmt::print("{}", jsonLine(out));
      } else {
        fmt::print("{:<32} {:<8} {:>10.3f} {:>10.3f} {:>7.1f} {:>9.1f} {:>6} {:>9}K {:>8.0f}{}\n", p.name.substr(0, 32),
                   what.name, static_cast<double>(median) * 1e-6,
                   static_cast<double>(measured->samplesNs.front()) * 1e-6, 100 * spread, gflops,
                   multiplies ? fmt::format("{:.1f}", 100 * gflops / *peak) : "-", measured->workspaceBytes / 1024,
                   static_cast<double>(measured->times.generateNs) * 1e-3, restless ? kDisturbed : "");
        if (sampling.breakdown) printBreakdown(breakdown);
      }
      std::fflush(stdout);
    }
  }
  if (!flags.json && request->problems.size() > 1) {
    for (const auto& [name, entry] : logSum) {
      if (entry.second > 0)
        fmt::print("geometric mean {}: {:.1f} % of peak over {} problems\n", name,
                   100 * std::exp(entry.first / entry.second), entry.second);
    }
  }
  return code;
}

}  // namespace

void addBench(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Measure generated passes against the machine's FMA peak");
  example(*command, "bench " + std::string(kExampleLayer) + " --passes dx,dw");
  auto flags = std::make_shared<RequestFlags>();
  auto sampling = std::make_shared<Sampling>();
  addProblemFlags(*command, *flags, true);
  addRunFlags(*command, *flags);
  addSocFlag(*command, *flags);
  addEmulationFlags(*command, *flags);
  command->add_option("--min-seconds", sampling->minSeconds, "Measure each pass at least this long")
      ->check(numberFrom(0, 86400));
  command->add_option("--min-samples", sampling->minSamples, "and at least this often")
      ->transform(wholeFrom(1, 1000000000));
  command->add_flag("--together", sampling->together,
                    "Measure the passes in one call, as a training step asks for them");
  command->add_flag("--keep-weights", sampling->keepWeights, "Pack the weights of dx once, outside what is measured");
  command->add_flag(
      "--breakdown", sampling->breakdown,
      "Tell where the time of the fastest run went: kernels that multiply, that move data, loops, waiting");
  command->callback([&action, flags, sampling] {
    action = [flags, sampling](const std::string& typed) { return bench(*flags, *sampling, typed); };
  });
}

}  // namespace cubejit::cli
