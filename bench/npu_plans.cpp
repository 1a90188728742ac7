// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing: prints how published tilings of known networks compare with the planner's under its own cost model, and what it
// plans for a suite on a chip. Times are of planning. npu_plans [SOC [SUITE]]; run from the root of the repository.
#include <chrono>
#include <cstdio>
#include <string>

#include "cubejit/machines.h"
#include "runtime/json_problem.h"
#include "tests/support/published_tilings.h"

namespace cubejit {
namespace {

std::string tileOf(const NpuReport& r) {
  const CubeTile& t = r.plan.cube;
  const auto n = [](std::int64_t v) { return std::to_string(v); };
  return n(t.base.m) + "x" + n(t.base.k) + "x" + n(t.base.n) + " " + n(t.stepKa) + "," + n(t.stepKb);
}

int published(const Machine& machine) {
  const auto rows = publishedTilings("bench/tilings/ascend_published.jsonl", machine);
  if (!rows.ok()) return std::fprintf(stderr, "%s\n", rows.error().message.c_str()), 2;
  std::printf(
      "| published tiling on %s | gradient | legal | theirs, base and steps | cycles | ours, base and steps | cycles | "
      "theirs / ours |\n",
      machine.name.c_str());
  std::printf("|---|---|---|---|---|---|---|---|\n");
  int worse = 0;
  for (const PublishedTiling& row : *rows) {
    const double ratio = row.theirs.predictedCycles / row.ours.predictedCycles;
    worse += row.broken.empty() && ratio >= 1 ? 0 : 1;
    std::printf("| %s | %s | %s | %s | %.0f | %s | %.0f | %.3f |\n", row.problem.name.c_str(), toString(row.gradient),
                row.broken.empty() ? "yes" : row.broken.front().c_str(), tileOf(row.theirs).c_str(),
                row.theirs.predictedCycles, tileOf(row.ours).c_str(), row.ours.predictedCycles, ratio);
  }
  std::printf("\n%zu published tilings, %d illegal or cheaper than ours\n\n", rows->size(), worse);
  return worse == 0 ? 0 : 1;
}

int suite(const Machine& machine, const std::string& path) {
  auto problems = readSuite(path);
  if (!problems.ok()) return std::fprintf(stderr, "%s\n", problems.error().message.c_str()), 2;
  std::printf("| %s on %s, f16 | gradient | cycles | cube busy | needed | bound | base and steps | planned in |\n",
              path.c_str(), machine.name.c_str());
  std::printf("|---|---|---|---|---|---|---|---|\n");
  double longest = 0;
  for (Problem& problem : *problems) {
    problem.dtype = DType::kF16;
    for (const Gradient gradient : {Gradient::kDx, Gradient::kDw}) {
      const auto start = std::chrono::steady_clock::now();
      const auto r = planOnNpu(problem, gradient, machine);
      const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
      longest = std::max(longest, ms);
      if (!r.ok()) {
        const std::string why = r.error().message.substr(0, r.error().message.find('\n'));
        std::printf("| %s | %s | refused: %s | | | | | |\n", problem.name.c_str(), toString(gradient), why.c_str());
        continue;
      }
      std::printf("| %s | %s | %.0f | %.0f %% | %.0f %% | %s | %s | %.1f ms |\n", problem.name.c_str(),
                  toString(gradient), r->predictedCycles, 100 * r->cubeShare, 100 * r->usefulShare, r->bound.c_str(),
                  tileOf(*r).c_str(), ms);
    }
  }
  std::printf("\nlongest planning time: %.1f ms\n", longest);
  return 0;
}

}  // namespace
}  // namespace cubejit

int main(int argc, char** argv) {
  const auto machine = cubejit::machineByName(argc > 1 ? argv[1] : "ascend910b2");
  if (!machine.ok()) return std::fprintf(stderr, "%s\n", machine.error().message.c_str()), 2;
  const int code = cubejit::published(*machine);
  const int planned = cubejit::suite(*machine, argc > 2 ? argv[2] : "bench/shapes/ascend_networks.jsonl");
  return code != 0 ? code : planned;
}
