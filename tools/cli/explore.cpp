// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how an exploration goes on: points on all cores, a file that is readable at any moment, what is printed at the end.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "commands.h"
#include "distinct_files.h"
#include "explore_page.h"
#include "explore_point.h"
#include "failure.h"
#include "interrupts.h"
#include "json_line.h"
#include "progress.h"
#include "runtime/host/file_descriptor.h"
#include "runtime/text/json_machine.h"
#include "runtime/text/json_object.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/text_file.h"
#include "tiling/no_throw.h"

namespace cubejit::cli {
namespace {

constexpr const char* kX = "us";
constexpr const char* kY = "energy_pj";

struct ExploreFlags {
  std::vector<std::string> vary;
  std::string energy, out, report;
};

struct AskedExploration {
  Question question;
  std::vector<GridPoint> points;
  Json request;  ///< the first line of a file of points
  std::size_t threads = 1;
};

Json requestToJson(const Machine& base, const std::vector<Axis>& axes, const Question& question) {
  Json out{{"schema", "cubejit.explore/1"}, {"version", version()}, {"base", Json::parse(machineToJson(base))}};
  out["vary"] = Json::object();
  for (const Axis& axis : axes) out["vary"][axis.field] = axis.values;
  out["passes"] = Json::array();
  for (const Pass pass : question.passes) out["passes"].push_back(toString(pass));
  out["problems"] = Json::array();
  for (const Problem& problem : question.problems) out["problems"].push_back(Json::parse(problemToJson(problem)));
  out["energy"] = energyToJson(question.figures);
  return out;
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
    note(Error{
        ErrorCode::kInvalidProblem, Stage::kPlan,
        "no machine to begin with; name a chip with --soc (`cubejit targets` lists them) or a file with --machine"});
  if (request.ok() && request->passes.db)
    note(Error{ErrorCode::kUnsupported, Stage::kPlan,
               "--passes: db is a sum by the vector units and has no plan to explore; ask for dx, dw or both"});
  std::vector<Axis> axes;
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
        note(grid.error());
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

// A file of points: the request, then a point a line as they end. What is there already is not asked again.
class PointFile {
  static constexpr std::size_t kMostOfLine = std::size_t{64} << 20;  // a point tells of every problem of a suite

 public:
  /// Reads what there is, or begins the file. Errors: kIo, or another request's file. Empty path: nothing is kept.
  Status open(const std::string& path, const Json& request, std::vector<Json>& points) {
    path_ = path;
    if (path.empty()) return Unit{};
    std::error_code ignored;
    std::size_t kept = 0;  // bytes
    const bool device = std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
    if (!device) {
      lock_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
      if (!lock_) return cannot();
      if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return Error{ErrorCode::kIo, Stage::kRun,
                     printable(path) + " is in use by another exploration; wait for it, or name another file"};
      CUBEJIT_TRY(known, readKnown(request, points));
      kept = known;
    }
    const bool begun = kept > 0;
    if (begun && truncate(path.c_str(), static_cast<off_t>(kept)) != 0) return cannot();
    out_.open(path, std::ios::binary | (begun ? std::ios::app : std::ios::trunc));
    return begun ? (out_ ? Status(Unit{}) : Status(cannot())) : add(request);
  }
  Status add(const Json& line) {
    if (path_.empty()) return Unit{};
    errno = 0;
    if (out_) out_ << jsonLine(line) << std::flush;
    return out_ ? Status(Unit{}) : Status(cannot());
  }

 private:
  // Gives the points that are there, and how many bytes of the file hold them and the request.
  Result<std::size_t> readKnown(const Json& request, std::vector<Json>& points) const {
    CUBEJIT_TRY(in, TextLines::open(path_, "points of an exploration, one a line", Stage::kPlan, kMostOfLine));
    std::size_t kept = 0;
    std::string line;
    CUBEJIT_TRY(any, in.next(line));
    if (any && in.whole()) {
      const Json there = parseJson(line);
      if (!there.is_object() || there.value("schema", Json()) != request["schema"])
        return invalid("is no file of points; name another with --out");
      for (const auto& [key, value] : request.items()) {
        if (there.value(key, Json()) != value)
          return invalid("holds another exploration: its '" + key + "' differs; name another file with --out");
      }
      kept = in.end();
      // The last line may be cut off; it is asked again.
      for (;;) {
        CUBEJIT_TRY(more, in.next(line));
        if (!more || !in.whole()) break;
        Json point = parseJson(line);
        if (!isPoint(point) || !point.contains("point") ||
            !isWholeWithin(point["point"], 0, static_cast<std::int64_t>(points.size()) - 1))
          return invalid("has a line that is no point: " + line.substr(0, 80) + "; remove it, or name another file");
        kept = in.end();
        const auto place = point["point"].get<std::size_t>();
        points[place] = std::move(point);
      }
    } else if (any && line.rfind("{\"schema\":\"cubejit.explore/", 0) != 0) {
      return invalid("is no file of points; name another with --out");
    }
    return kept;
  }
  // Right behind what failed.
  Error cannot() const {
    const std::string why = errno == 0 ? "" : std::string(": ") + std::strerror(errno);
    return Error{ErrorCode::kIo, Stage::kRun, "cannot write " + printable(path_) + why};
  }
  Error invalid(const std::string& what) const { return invalidInput(printable(path_ + " " + what), Stage::kPlan); }
  std::string path_;
  std::ofstream out_;
  FileDescriptor lock_;  ///< of the file, by this process
};

// Points that are not there yet, on all threads.
Status evaluate(const AskedExploration& asked, PointFile& file, std::vector<Json>& points) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].is_null()) open.push_back(i);
  }
  Progress progress("explore", static_cast<std::int64_t>(points.size()));
  std::atomic<std::size_t> next{0};
  std::size_t done = points.size() - open.size();
  std::mutex mutex;
  Status status = Unit{};
  const auto work = [&] {
    for (std::size_t i = next++; i < open.size() && !stopRequested(); i = next++) {
      Status kept = withoutThrowing(Stage::kPlan, [&]() -> Status {
        CUBEJIT_TRY(numbers, pointToJson(asked.points[open[i]], asked.question));
        Json point{{"point", open[i]}};
        point.update(numbers);
        const std::scoped_lock lock(mutex);
        CUBEJIT_RETURN_IF_ERROR(file.add(point));
        points[open[i]] = std::move(point);
        progress.update(static_cast<std::int64_t>(++done), asked.points[open[i]].machine.name);
        return Unit{};
      });
      if (kept.ok()) continue;
      next = open.size();
      const std::scoped_lock lock(mutex);
      status = std::move(kept);
      return;
    }
  };
  std::vector<std::thread> threads;
  try {
    threads.reserve(asked.threads);
    for (std::size_t i = 1; i < asked.threads; ++i) threads.emplace_back(work);
  } catch (const std::exception&) {  // no thread, or no memory for one: those there are do it all
  }
  work();
  for (std::thread& thread : threads) thread.join();
  return status;
}

void print(const std::vector<Json>& points, bool json) {
  const std::vector<std::size_t> front = frontOf(points, kX, kY);
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
