// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the data of the page: every layer with its trials, the machine's roofs, how well the cost model ranks.
#include "tune_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "cubejit/index_map.h"
#include "failure.h"
#include "page_text.h"
#include "runtime/host/bandwidth.h"
#include "runtime/host/threads.h"
#include "runtime/text/json_machine.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"
#include "runtime/text/problem_text.h"
#include "runtime/text/whole_file.h"
#include "runtime/verify/reference_conv.h"
#include "tune_report_page.h"

namespace cubejit::cli {
namespace {

namespace fs = std::filesystem;

// Bytes a pass has to touch: its operands and its result once.
double compulsoryBytes(const Problem& p, Pass pass) {
  auto bytes = static_cast<double>(formatBytes(p, resultOf(pass)));
  for (const TensorId tensor : kTensorIds) {
    if (reads(pass, tensor)) bytes += static_cast<double>(formatBytes(p, tensor));
  }
  return bytes;
}

Json trialJson(const TuneRecord& r) {
  const bool led = r.verified && r.message.empty();  // its race, if not the last ones
  Json out{{"status", toString(r.status)}, {"rel", r.relative}, {"won", led}, {"untuned", r.untuned}};
  out["ns"] = medianNs(r.samplesNs);
  out["cycles"] = r.cost.totalCycles;
  out["plan"] = Json::parse(planToJson(r.plan));
  if (!r.message.empty()) out["message"] = r.message.substr(0, 200);
  return out;
}

Json qualityJson(const RankQuality& q) {
  return Json{{"spearman", q.spearman}, {"kendall", q.kendall}, {"plans", q.plans}};
}

// Words of `dump` that ask for the emulated chip of the run, which is written into the folder; nothing if that cannot be.
std::optional<std::string> chipWords(const fs::path& folder, const Session& session) {
  if (!session.machine().isEmulated()) return std::string();
  const fs::path chip = folder / "chip.json";
  if (!writeWholeFile(chip.string(), machineToJson(session.machine()) + "\n").ok()) return std::nullopt;
  return " --soc " + quoted(fs::absolute(chip)) + (session.options().elideCopies ? " --fast" : "");
}

// The stages of a plan's code, written by `cubejit dump`; the folder's name relative to the page, or nothing.
std::string dumpOf(const fs::path& folder, const TuneRow& row, const Session& session, std::size_t number) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string self = fs::read_symlink("/proc/self/exe", error).string();
  if (error) return {};
  const std::optional<std::string> chip = chipWords(folder, session);
  const fs::path plan = folder / fmt::format("{:03}.plan.json", number);
  if (!chip || !writeWholeFile(plan.string(), planToJson(row.outcome.best.plan) + "\n").ok()) return {};
  const std::string line = fmt::format(
      "{} dump {} --passes {} --isa {}{} --plan {} --emit problem,plan,tile,vector,asm -o {} 2>/dev/null </dev/null",
      quoted(self), toFlags(row.task.problem), toString(row.task.pass), toString(session.machine().isa.level), *chip,
      quoted(plan), quoted(folder));
  std::string printed;
  if (FILE* out = popen(line.c_str(), "r")) {
    std::array<char, 4096> bytes{};
    while (const std::size_t n = fread(bytes.data(), 1, bytes.size(), out)) printed.append(bytes.data(), n);
    if (pclose(out) != 0) return {};
  }
  while (!printed.empty() && printed.back() == '\n') printed.pop_back();
  if (printed.empty() || printed.find('\n') != std::string::npos) return {};
  return (folder.filename() / fs::path(printed).filename()).string();
}

Json layerJson(const TuneRow& row, RecordKeeper& keeper, const TuneRun& run) {
  const TuneOutcome& o = row.outcome;
  Json layer{{"name", row.task.problem.name}, {"pass", toString(row.task.pass)}};
  layer["flops"] = passFlops(row.task.problem, row.task.pass);
  layer["bytes"] = compulsoryBytes(row.task.problem, row.task.pass);
  layer["untuned_ns"] = medianNs(o.untuned.samplesNs);
  layer["rel"] = o.best.relative;
  layer["tuned"] = !o.best.untuned;
  layer["confirmed"] = o.confirmed;
  layer["tried"] = o.tried;
  layer["discarded"] = o.discarded;
  layer["seconds"] = o.seconds;
  layer["model"] = qualityJson(o.model);
  layer["refit"] = qualityJson(o.refitted);
  layer["untuned_plan"] = Json::parse(planToJson(o.untuned.plan));
  layer["best_plan"] = Json::parse(planToJson(o.best.plan));
  layer["trials"] = Json::array();
  for (const TuneRecord& record : keeper.of(run.keyOf(row.task), version()))
    layer["trials"].push_back(trialJson(record));
  return layer;
}

// What refitting is worth: the model as it is, fitted to everything, and fitted to the other problems only.
Json modelJson(const std::vector<TuneRecord>& records, Pass pass) {
  std::vector<TuneRecord> mine;
  for (const TuneRecord& record : records) {
    if (record.key.pass == pass) mine.push_back(record);
  }
  const std::vector<FitPoint> points = fitPoints(mine);
  const double prior = FittedCost::choosePrior(points);
  const FittedCost fitted = FittedCost::fit(points, prior);
  Json out{{"pass", toString(pass)}};
  out["planner"] = qualityJson(rankModel(FittedCost(), points));
  out["fitted"] = qualityJson(rankModel(fitted, points));
  out["others"] = qualityJson(crossValidated(points, prior));
  out["weights"] = Json::object();
  for (const FitPoint& p : points) out["weights"][p.family] = fitted.weights(p.family);
  return out;
}

// What the host reaches, measured now.
Json hostRoofs(const Session& session) {
  const int threads = threadsOf(session.options());
  const auto peak = measurePeakGflops(session.machine().isa.level, threads);
  const auto bandwidth = measureReadBandwidth(threads);
  return Json{{"threads", threads},
              {"isa", toString(session.machine().isa.level)},
              {"peak_gflops", peak.ok() ? *peak : 0},
              {"read_gbs", bandwidth.ok() ? *bandwidth : 0}};
}

// What an NPU reaches by its rates, for the type of the first problem.
Json chipRoofs(const Machine& m, const std::vector<TuneRow>& rows) {
  const DType type = rows.empty() ? DType::kF16 : formatOf(rows.front().task.problem, TensorId::kDy).dtype;
  const MatrixProduct* step = m.npu.cube.product(type);
  const double flops = step == nullptr ? 0
                                       : 2.0 * static_cast<double>(step->shape.m * step->shape.k * step->shape.n) /
                                             step->cycles * m.cores;
  return Json{{"threads", m.cores},
              {"isa", m.name},
              {"peak_gflops", flops * m.npu.mhz * 1e-3},
              {"read_gbs", m.npu.paths.ddrRead * m.cores * m.npu.mhz * 1e-3}};
}

}  // namespace

Status writeReport(const std::string& path, const std::vector<TuneRow>& rows, RecordKeeper& keeper,
                   const Session& session, const TuneRun& run, double seconds) {
  StagedFile out(path);  // first, since dumps make folders
  CUBEJIT_RETURN_IF_ERROR(out.open());
  Json data{{"version", version()}, {"when", utcNow()}, {"machine", run.keyOf({}).machine}};
  data["seconds"] = seconds;
  data["modelled"] = run.modelled();
  data.update(run.modelled() ? chipRoofs(run.machine(), rows) : hostRoofs(session));
  data["run"] = run.run();
  data["layers"] = Json::array();
  data["failed"] = Json::array();
  const fs::path page = path;
  const fs::path dumps = page.parent_path() / (page.stem().string() + "_dumps");
  std::vector<TuneRecord> records;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].error.empty()) {
      data["failed"].push_back(
          {{"name", rows[i].task.problem.name}, {"pass", toString(rows[i].task.pass)}, {"error", rows[i].error}});
      continue;
    }
    Json layer = layerJson(rows[i], keeper, run);
    if (!rows[i].outcome.best.untuned && !run.modelled()) layer["dump"] = dumpOf(dumps, rows[i], session, i);
    data["layers"].push_back(std::move(layer));
    const std::vector<TuneRecord> own = keeper.of(run.keyOf(rows[i].task), version());
    records.insert(records.end(), own.begin(), own.end());
  }
  data["models"] = Json::array();
  for (const Pass pass : kPasses) {
    const bool present =
        std::any_of(records.begin(), records.end(), [&](const TuneRecord& r) { return r.key.pass == pass; });
    if (present) data["models"].push_back(modelJson(records, pass));
  }
  CUBEJIT_RETURN_IF_ERROR(out.fill({pageText(kReportPage, data)}));
  return out.publish();
}

}  // namespace cubejit::cli
