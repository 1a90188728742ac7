// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the replay: every recorded problem is a closed search space; a strategy asks, the records answer.
#include "tune_simulate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"
#include "failure.h"
#include "json_line.h"
#include "known_machines.h"
#include "runtime/text/json_value.h"
#include "runtime/tuning/autotune.h"
#include "runtime/tuning/fingerprint.h"
#include "runtime/tuning/json_record.h"
#include "runtime/tuning/record_keeper.h"
#include "runtime/tuning/store.h"

namespace cubejit::cli {
namespace {

constexpr std::array kMarks{1, 5, 10, 20, 40};
constexpr std::size_t kFewest = 8;  // recorded plans that make a problem worth replaying
constexpr int kSeeds = 5;           // lots are drawn that often
constexpr double kCloseEnough = 0.02;

// One key's records: the times by plan.
struct Book {
  TuneKey key;
  std::vector<SearchPlan> plans;
  std::map<std::string, double> times;
  double best = 1e300;
};

Result<std::vector<TuneRecord>> recordsOf(const std::string& path) {
  std::string head(15, '\0');
  if (std::error_code ignored; std::filesystem::is_regular_file(path, ignored))  // of a pipe, all is read below
    std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head == "SQLite format 3") {
    CUBEJIT_TRY(store, TuningStore::open(path, StoreAccess::kRead, nullptr));
    return store->all();
  }
  CUBEJIT_TRY(lines, readRecords(path));
  for (const std::string& line : lines.refused) fmt::print(stderr, "left out {}\n", printable(line));
  return lines.records;
}

std::vector<Book> booksOf(const std::vector<TuneRecord>& records) {
  std::map<std::string, Book> byKey;
  for (const TuneRecord& r : records) {
    if (r.status != TrialStatus::kMeasured || r.relative <= 0) continue;
    Book& book = byKey[fmt::format("{} {} {} {}", problemIdentity(r.key.problem), toString(r.key.pass), r.key.machine,
                                   r.key.threads)];
    book.key = r.key;
    const auto [place, isNew] = book.times.emplace(planIdentity(r.plan), r.relative);
    if (isNew) book.plans.push_back({r.plan, r.cost});
    place->second = std::min(place->second, r.relative);
    book.best = std::min(book.best, r.relative);
  }
  std::vector<Book> books;
  for (auto& [key, book] : byKey) {
    if (book.plans.size() >= kFewest) books.push_back(std::move(book));
  }
  return books;
}

// The chip that a record of modelled cycles or of emulation is about, or the host: what a plan's decisions are depends on it.
Machine machineOf(const TuneKey& key, const Machine& host) {
  const std::string fingerprint = planningFingerprint(key.machine);
  for (const Machine& chip : knownMachines()) {
    if (fingerprint == machineFingerprint(chip)) return chip;
  }
  return host;
}

struct Score {
  std::array<double, kMarks.size()> logRegret{};
  double trialsToClose = 0;
  int runs = 0;
};

void replay(const Book& book, StrategyKind kind, std::uint64_t seed, const std::vector<FitPoint>& others,
            const Machine& machine, Score& score) {
  const SearchSpace space = SearchSpace::among(book.key.problem, machine, book.plans);
  const auto strategy = makeStrategy(kind, space, seed, others);
  double best = 1e300;
  int trial = 0, close = 0;
  std::array<double, kMarks.size()> at{};
  while (const auto plan = strategy->next()) {
    const double time = book.times.at(planIdentity(plan->plan));
    strategy->learn(*plan, time);
    best = std::min(best, time);
    ++trial;
    if (close == 0 && best <= book.best * (1 + kCloseEnough)) close = trial;
    for (std::size_t m = 0; m < kMarks.size(); ++m) {
      if (trial <= kMarks[m]) at[m] = std::log(best / book.best);
    }
  }
  for (std::size_t m = 0; m < kMarks.size(); ++m) score.logRegret[m] += at[m];
  score.trialsToClose += close > 0 ? close : trial;
  ++score.runs;
}

}  // namespace

int simulate(const std::string& path, bool json, const std::string& typed) {
  const auto records = recordsOf(path);
  if (!records.ok()) return report(records.error(), typed);
  const std::vector<Book> books = booksOf(*records);
  if (books.empty()) {
    return report(
        invalidInput(fmt::format("{} holds no problem with {} or more measured plans", path, kFewest), Stage::kPlan),
        typed);
  }
  const std::vector<IsaLevel> isas = runnableIsas();
  const Machine host = detectHost(isas.empty() ? IsaLevel::kAvx2 : isas.front());
  if (!json) {
    fmt::print("{} problems replayed; how far behind the best recorded plan, geometric mean\n", books.size());
    fmt::print("{:<12}", "strategy");
    for (const int mark : kMarks) fmt::print("{:>10}", fmt::format("after {}", mark));
    fmt::print("  trials to within 2 %\n");
  }
  for (const StrategyKind kind :
       {StrategyKind::kModel, StrategyKind::kEvolve, StrategyKind::kRandom, StrategyKind::kExhaustive}) {
    Score score;
    for (const Book& book : books) {
      const std::vector<FitPoint> points = pointsOfOthers(*records, book.key);
      for (int seed = 1; seed <= kSeeds; ++seed)
        replay(book, kind, static_cast<std::uint64_t>(seed), points, machineOf(book.key, host), score);
    }
    Json out{{"schema", "cubejit.simulation/1"}, {"strategy", toString(kind)}, {"problems", books.size()}};
    if (!json) fmt::print("{:<12}", toString(kind));
    for (std::size_t m = 0; m < kMarks.size(); ++m) {
      const double regret = std::exp(score.logRegret[m] / score.runs) - 1;
      out[fmt::format("regret_{}", kMarks[m])] = regret;
      if (!json) fmt::print("{:>9.1f}%", 100 * regret);
    }
    out["trials_to_2_percent"] = score.trialsToClose / score.runs;
    if (json)
      fmt::print("{}", jsonLine(out));
    else
      fmt::print("  {:.1f}\n", score.trialsToClose / score.runs);
  }
  return 0;
}

}  // namespace cubejit::cli
