// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the measurement: both sides alternate on the same tensors, so that a busy moment hits both.
#include "bench_soc.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "cubejit/cubejit.hpp"
#include "failure.h"
#include "json_line.h"
#include "progress.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"
#include "runtime/tuning/measure.h"
#include "runtime/tuning/race.h"
#include "runtime/verify/reference_conv.h"

namespace cubejit::cli {
namespace {

struct Sides {
  std::vector<std::int64_t> emulated, native;  ///< nanoseconds, ascending
  EmulationReport report;
  TilingPlan plan;
};

Result<Sides> measureBoth(Session& chip, Session& host, const Request& request, const Problem& p, Pass pass,
                          double minSeconds, int minSamples) {
  const PassMask mask = maskOf(pass);
  CompileRequest wanted{p, mask, {}};
  for (const TilingPlan& plan : request.plans) {
    if (plan.pass == pass) wanted.plans.push_back(plan);
  }
  CUBEJIT_TRY(emulation, chip.compile(wanted));
  CUBEJIT_TRY(compiled, host.compile(p, mask));
  CUBEJIT_TRY(workload, Workload::create(p, mask));
  Sides sides;
  sides.plan = emulation->plan(pass);
  CUBEJIT_TRY(counted, emulation->emulationReport(pass));
  sides.report = std::move(counted);
  double spent = 0;
  for (int run = 0; spent < minSeconds || static_cast<int>(sides.emulated.size()) < minSamples; ++run) {
    CUBEJIT_TRY(emulated, workload->run(*emulation));
    CUBEJIT_TRY(native, workload->run(*compiled));
    spent += static_cast<double>(emulated + native) * 1e-9;
    if (run > 0) {  // the first is a warm-up
      sides.emulated.push_back(emulated);
      sides.native.push_back(native);
    }
    if (spent > 20 * minSeconds && !sides.emulated.empty()) break;
  }
  std::sort(sides.emulated.begin(), sides.emulated.end());
  std::sort(sides.native.begin(), sides.native.end());
  return sides;
}

}  // namespace

int benchSoc(const RequestFlags& flags, const Request& request, double minSeconds, int minSamples) {
  Session session(request.options);
  Options native = request.options;
  native.machine.reset();
  Session host(native);
  const std::vector<Pass> passes = passesOf(request.passes);
  Progress progress("bench", static_cast<std::int64_t>(request.problems.size() * passes.size()));
  if (!flags.json)
    fmt::print("{:<32} {:<3} {:>11} {:>9} {:>9} {:>9} {:>11} {:>7} {:>11}  {} emulated on {} threads\n", "problem", "",
               "median ms", "best ms", "GFLOP/s", "host ms", "host GF/s", "share%", "chip us", request.soc()->name,
               request.threads[0]);
  int code = 0;
  std::int64_t done = 0;
  for (const Problem& p : request.problems) {
    for (const Pass pass : passes) {
      progress.update(done++, p.name);
      const auto sides = measureBoth(session, host, request, p, pass, minSeconds, minSamples);
      progress.clear();
      if (!sides.ok()) {
        code = std::max(code, report(sides.error(), reproduction("bench", flags, p)));
        continue;
      }
      const double flops = passFlops(p, pass);
      const auto median = [](const std::vector<std::int64_t>& ns) { return static_cast<double>(ns[ns.size() / 2]); };
      const double emulated = median(sides->emulated), native = median(sides->native);
      const bool restless = disturbed(sides->emulated, 0, RaceRules{}) || disturbed(sides->native, 0, RaceRules{});
      if (flags.json) {
        Json out{{"schema", "cubejit.bench_soc/1"},
                 {"name", p.name},
                 {"soc", request.soc()->name},
                 {"pass", toString(pass)},
                 {"threads", request.threads[0]},
                 {"ns_median", emulated},
                 {"ns_min", sides->emulated.front()},
                 {"spread", spreadOf(sides->emulated)},
                 {"disturbed", restless},
                 {"samples", sides->emulated.size()},
                 {"flops", flops},
                 {"gflops", flops / emulated},
                 {"host_ns_median", native},
                 {"host_ns_min", sides->native.front()},
                 {"host_gflops", flops / native},
                 {"host_share", native / emulated},
                 {"chip_cycles", sides->report.cycles},
                 {"chip_us", sides->report.microseconds}};
        if (pass != Pass::kDb) out["plan"] = Json::parse(planToJson(sides->plan));
        fmt::print("{}", jsonLine(out));
      } else {
        fmt::print("{:<32} {:<3} {:>11.3f} {:>9.3f} {:>9.1f} {:>9.3f} {:>11.1f} {:>7.1f} {:>11.1f}{}\n",
                   p.name.substr(0, 32), toString(pass), emulated * 1e-6,
                   static_cast<double>(sides->emulated.front()) * 1e-6, flops / emulated, native * 1e-6, flops / native,
                   100 * native / emulated, sides->report.microseconds, restless ? kDisturbed : "");
      }
      std::fflush(stdout);
    }
  }
  return code;
}

}  // namespace cubejit::cli
