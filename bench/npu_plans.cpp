// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing: prints how published tilings of known networks compare with the planner's under its own cost model, what it plans
// for a suite on a chip, and how long plans take. Run from the root of the repository:
//   npu_plans published SOC          the published tilings, as a table; 1 if one is illegal or cheaper than ours
//   npu_plans suite SOC SUITE        every plan of a suite, in f16
//   npu_plans times SOC SUITE...     how long every plan of these suites takes, in every type of the chip; 1 if one takes over 20 ms
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "cubejit/machines.h"
#include "runtime/text/json_problem.h"
#include "tests/support/published_tilings.h"

namespace cubejit {
namespace {

constexpr double kMostMilliseconds = 20;

std::string tileOf(const NpuReport& r) {
  const CubeTile& t = r.plan.cube().tile;
  const auto n = [](std::int64_t v) { return std::to_string(v); };
  return n(t.base.m) + "x" + n(t.base.k) + "x" + n(t.base.n) + " " + n(t.stepKa) + "," + n(t.stepKb);
}

int published(const Machine& machine) {
  const auto rows = publishedTilings("bench/tilings/ascend_published.jsonl", machine);
  if (!rows.ok()) return std::fprintf(stderr, "%s\n", rows.error().message.c_str()), 2;
  std::printf(
      "| published tiling on %s | pass | legal | theirs, base and steps | cycles | ours, base and steps | cycles | "
      "theirs / ours |\n",
      machine.name.c_str());
  std::printf("|---|---|---|---|---|---|---|---|\n");
  int worse = 0;
  for (const PublishedTiling& row : *rows) {
    const double ratio = row.theirs.predictedCycles / row.ours.predictedCycles;
    worse += row.broken.empty() && ratio >= 1 ? 0 : 1;
    std::printf("| %s | %s | %s | %s | %.0f | %s | %.0f | %.3f |\n", row.problem.name.c_str(), toString(row.pass),
                row.broken.empty() ? "yes" : row.broken.front().c_str(), tileOf(row.theirs).c_str(),
                row.theirs.predictedCycles, tileOf(row.ours).c_str(), row.ours.predictedCycles, ratio);
  }
  std::printf("\n%zu published tilings, %d illegal or cheaper than ours\n\n", rows->size(), worse);
  return worse == 0 ? 0 : 1;
}

// How long a plan takes, in milliseconds: the least of `times`, as a busy machine only adds.
double planningTime(const Problem& problem, Pass pass, const Machine& machine, int times, Result<NpuReport>& report) {
  double least = 1e9;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    report = planOnNpu(problem, pass, machine);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count());
  }
  return least;
}

int suite(const Machine& machine, const std::string& path) {
  auto problems = readSuite(path);
  if (!problems.ok()) return std::fprintf(stderr, "%s\n", problems.error().message.c_str()), 2;
  std::printf("| %s on %s, f16 | pass | cycles | cube busy | needed | bound | base and steps | planned in |\n",
              path.c_str(), machine.name.c_str());
  std::printf("|---|---|---|---|---|---|---|---|\n");
  double longest = 0;
  for (Problem& problem : *problems) {
    problem.dtype = DType::kF16;
    for (const Pass pass : {Pass::kDx, Pass::kDw}) {
      Result<NpuReport> r = Error{};
      const double ms = planningTime(problem, pass, machine, 1, r);
      longest = std::max(longest, ms);
      if (!r.ok()) {
        const std::string why = r.error().message.substr(0, r.error().message.find('\n'));
        std::printf("| %s | %s | refused: %s | | | | | |\n", problem.name.c_str(), toString(pass), why.c_str());
        continue;
      }
      std::printf("| %s | %s | %.0f | %.0f %% | %.0f %% | %s | %s | %.1f ms |\n", problem.name.c_str(), toString(pass),
                  r->predictedCycles, 100 * r->cubeShare, 100 * r->usefulShare, r->bound.c_str(), tileOf(*r).c_str(),
                  ms);
    }
  }
  std::printf("\nlongest planning time: %.1f ms\n", longest);
  return 0;
}

struct Timed {
  double ms = 0;
  std::string what;
};

int times(const Machine& machine, const std::vector<std::string>& suites) {
  std::vector<Timed> all;
  for (const std::string& path : suites) {
    auto problems = readSuite(path);
    if (!problems.ok()) return std::fprintf(stderr, "%s\n", problems.error().message.c_str()), 2;
    for (Problem& problem : *problems) {
      for (const MatrixProduct& step : machine.npu.cube.products) {
        problem.dtype = step.operand;
        for (const Pass pass : {Pass::kDx, Pass::kDw}) {
          Result<NpuReport> r = Error{};
          double ms = planningTime(problem, pass, machine, 1, r);
          if (ms > kMostMilliseconds / 2) ms = std::min(ms, planningTime(problem, pass, machine, 3, r));
          if (r.ok()) all.push_back({ms, problem.name + " " + toString(pass) + " " + toString(step.operand)});
        }
      }
    }
  }
  if (all.empty()) return std::fprintf(stderr, "no plan was made\n"), 2;
  std::sort(all.begin(), all.end(), [](const Timed& a, const Timed& b) { return a.ms < b.ms; });
  std::printf("| %s | %zu | %.1f | %.1f | %.1f | %s |\n", machine.name.c_str(), all.size(), all[all.size() / 2].ms,
              all[all.size() * 99 / 100].ms, all.back().ms, all.back().what.c_str());
  return all.back().ms > kMostMilliseconds ? 1 : 0;
}

}  // namespace
}  // namespace cubejit

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string what = words.empty() ? "" : words[0];
  const bool known = what == "published" || ((what == "suite" || what == "times") && words.size() >= 3);
  if (!known) return std::fprintf(stderr, "usage: npu_plans published SOC | suite SOC SUITE | times SOC SUITE...\n"), 2;
  const auto machine = cubejit::machineByName(words.size() > 1 ? words[1] : "ascend910b2");
  if (!machine.ok()) return std::fprintf(stderr, "%s\n", machine.error().message.c_str()), 2;
  if (what == "published") return cubejit::published(*machine);
  if (what == "suite") return cubejit::suite(*machine, words[2]);
  return cubejit::times(*machine, {words.begin() + 2, words.end()});
}
