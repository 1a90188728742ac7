// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an exploration asks, and what is printed at its end.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "commands.h"
#include "distinct_files.h"
#include "explore_axes.h"
#include "explore_page.h"
#include "failure.h"
#include "interrupts.h"
#include "json_line.h"
#include "progress.h"
#include "request.h"
#include "runtime/explore/explore.h"
#include "runtime/text/json_machine.h"
#include "runtime/text/json_problem.h"
#include "tiling/rule_lines.h"

namespace cubejit::cli {
namespace {

constexpr const char* kX = "us";
constexpr const char* kY = "energy_pj";

struct ExploreFlags {
  std::vector<std::string> vary;
  std::string energy, out, report;
};

struct AskedExploration {
  ExploreQuestion question;
  std::vector<GridPoint> points;
  Json request;  ///< the first line of a file of points
  std::size_t threads = 1;
};

Json requestToJson(const Machine& base, const std::vector<VariedNumber>& axes, const ExploreQuestion& question) {
  Json out{{"schema", "cubejit.explore/1"}, {"version", version()}, {"base", Json::parse(machineToJson(base))}};
  out["vary"] = Json::object();
  for (const VariedNumber& axis : axes) out["vary"][axis.field] = axis.values;
  out["passes"] = Json::array();
  for (const Pass pass : question.passes) out["passes"].push_back(toString(pass));
  out["problems"] = Json::array();
  for (const Problem& problem : question.problems) out["problems"].push_back(Json::parse(problemToJson(problem)));
  out["energy"] = energyToJson(question.figures);
  return out;
}

// The first rules that a grid breaks, each behind its flag, and how many more there are.
Error aboutVary(const Error& error) {
  constexpr std::size_t kMostRules = 8;
  std::vector<std::string> rules;
  std::istringstream lines(error.message);
  lines.exceptions(std::ios::badbit);  // where memory ends
  for (std::string line; std::getline(lines, line);) rules.push_back("--vary: " + line);
  if (rules.size() > kMostRules) {
    const std::string more = fmt::format("... and {} more", rules.size() - kMostRules);
    rules.resize(kMostRules);
    rules.push_back(more);
  }
  return {error.code, error.stage, inLines(rules)};
}

// Everything wrong with the flags is said at once.
Result<AskedExploration> resolveExplore(const RequestFlags& flags, const ExploreFlags& own) {
  AskedExploration asked;
  std::string broken;
  ErrorCode code = ErrorCode::kInvalidProblem;
  const auto note = [&](const Error& e) {
    broken += (broken.empty() ? "" : "\n") + e.message;
    if (e.code != ErrorCode::kInvalidProblem) code = e.code;
  };
  auto request = resolve(flags);
  if (!request.ok()) note(request.error());
  const Status distinct = distinctFiles({{"--out", own.out}, {"--report", own.report}},
                                        {{"--energy", own.energy}, {"--suite", flags.suite}});
  if (!distinct.ok()) note(distinct.error());
  const auto figures = own.energy.empty() ? Result<EnergyFigures>(EnergyFigures{}) : readEnergy(own.energy);
  if (!figures.ok()) note(figures.error());
  if (flags.soc.empty())
    note(invalidInput(
        "no machine to begin with; name a chip with --soc (`cubejit targets` lists them) or a file with --machine",
        Stage::kPlan));
  if (request.ok() && request->passes.db)
    note(Error{ErrorCode::kUnsupported, Stage::kPlan,
               "--passes: db is a sum by the vector units and has no plan to explore; ask for dx, dw or both"});
  std::vector<VariedNumber> axes;
  if (request.ok() && request->soc()) {
    auto parsed = parseAxes(own.vary, *request->soc());
    if (!parsed.ok()) {
      note(parsed.error());
    } else {
      axes = *parsed;
      auto grid = gridOf(axes, *request->soc());
      if (grid.ok())
        asked.points = std::move(*grid);
      else
        note(aboutVary(grid.error()));
    }
  }
  if (!broken.empty()) return Error{code, Stage::kPlan, broken};
  asked.question = {request->problems, passesOf(request->passes), *figures, {}};
  for (Problem& problem : asked.question.problems) {
    if (problem.name.empty()) problem.name = labelOf(problem);
  }
  const Session session(request->options);
  CUBEJIT_RETURN_IF_ERROR(session.status());
  asked.question.isa = session.machine().isa;
  asked.threads = std::min(static_cast<std::size_t>(request->threads[0]), asked.points.size());
  asked.request = requestToJson(*request->soc(), axes, asked.question);
  return asked;
}

Status evaluate(const AskedExploration& asked, PointFile& file, std::vector<Json>& points) {
  Progress progress("explore", static_cast<std::int64_t>(points.size()));
  const auto ended = [&](std::size_t done, const Machine& last) {
    progress.update(static_cast<std::int64_t>(done), last.name);
  };
  return cubejit::explore(asked.points, asked.question, {asked.threads, stopRequested, ended}, file, points);
}

void print(const std::vector<Json>& points, bool json) {
  const std::vector<std::size_t> front = paretoFront(points, kX, kY);
  if (!json)
    fmt::print("{:>5} {:>12} {:>10} {:>11} {:>11} {:>11}    machine; * = no other is faster and takes less energy\n",
               "point", "cycles", "us", "energy uJ", "memory MB", "on chip KB");
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Json& p = points[i];
    const bool best = std::find(front.begin(), front.end(), i) != front.end();
    if (json) {
      Json out = p;
      out["front"] = best;
      fmt::print("{}", jsonLine(out));
      continue;
    }
    const auto number = [&](const char* key) { return p[key].get<double>(); };
    fmt::print("{:>5} {:>12.0f} {:>10.1f} {:>11.2f} {:>11.2f} {:>11.0f}  {} {}{}\n", p["point"].get<std::size_t>(),
               number("cycles"), number("us"), number(kY) * 1e-6, number("memory_bytes") * 1e-6,
               number("on_chip_bytes") / 1024, best ? "*" : " ", p["machine"]["name"].get<std::string>(),
               p["failed"] == 0 ? "" : fmt::format("; {} without a plan", p["failed"].get<int>()));
  }
}

int explore(const RequestFlags& flags, const ExploreFlags& own, const std::string& typed) {
  const auto asked = resolveExplore(flags, own);
  if (!asked.ok()) return report(asked.error(), typed);
  std::vector<Json> points(asked->points.size());
  PointFile file;
  if (const Status opened = file.open(own.out, asked->request, points); !opened.ok())
    return report(opened.error(), typed);
  listenForInterrupts();
  if (const Status done = evaluate(*asked, file, points); !done.ok()) return report(done.error(), typed);
  const bool stopped = std::any_of(points.begin(), points.end(), [](const Json& p) { return p.is_null(); });
  points.erase(std::remove(points.begin(), points.end(), Json()), points.end());
  print(points, flags.json);
  int code = 0;
  if (!own.report.empty()) {
    const Status written = writeExplorePage(own.report, asked->request, points);
    if (!written.ok()) code = report(written.error(), typed);
  }
  if (stopped) {
    fmt::print(stderr, "note: stopped; {}\n",
               own.out.empty() ? "with --out FILE a run can be gone on with" : "the same command goes on");
    return 130;
  }
  const bool none = std::all_of(points.begin(), points.end(), [](const Json& p) { return p["failed"] != 0; });
  if (none && code == 0) {
    for (const Json& pass : points.front()["passes"]) {
      if (!pass.contains("error")) continue;
      return report(Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan,
                          "no machine has a plan for every pass; of the first, " + pass["name"].get<std::string>() +
                              ": " + pass["error"].get<std::string>()},
                    typed);
    }
  }
  return code;
}

}  // namespace

void addExplore(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "explore", "Plan for hypothetical NPUs: cycles, bytes and energy of every combination of a machine's numbers");
  example(*command, "explore " + std::string(kExampleLayer) +
                        " --dtype f16 --soc ascend910b2 --vary cores=8..32 --vary l1=256K,512K");
  auto flags = std::make_shared<RequestFlags>();
  auto own = std::make_shared<ExploreFlags>();
  flags->passes = "dx,dw";
  addProblemFlags(*command, *flags, true);
  addSocFlag(*command, *flags);
  command->add_option("--machine", flags->soc, "The same, for a file with one as JSON")->excludes("--soc");
  command
      ->add_option(
          "--vary", own->vary,
          fmt::format(
              "FIELD=A..B (doubling, and B), FIELD=A..B:STEP or FIELD=V,V,...; a number of the machine's JSON, or "
              "l0a, l0b, l0c, l1, l2, ub (bytes, with K, M, G), clock (MHz), hbm (GB/s of the chip); may be "
              "repeated: all combinations, at most {}",
              kMostPoints))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--energy", own->energy, "JSON file with figures of the energy model (docs/energy.md)");
  command->add_option("--out", own->out, "Keep points in this file, a line each; if it is there, go on from it");
  command->add_option("--report", own->report, "Write a page about the points to this HTML file");
  command->add_option("--threads", flags->threads, "Points at once (default: the CPUs this process may use)");
  command->add_flag("--json", flags->json, "One JSON object a point on standard output");
  command->callback([&action, flags, own] {
    action = [flags, own](const std::string& typed) { return explore(*flags, *own, typed); };
  });
}

}  // namespace cubejit::cli
