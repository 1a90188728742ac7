// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the replay: every recorded problem is a closed search space; a strategy asks, the records answer.
#include "runtime/tuning/replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "runtime/tuning/autotune.h"
#include "runtime/tuning/fingerprint.h"
#include "runtime/tuning/json_record.h"
#include "tiling/known_machines.h"

namespace cubejit {
namespace {

constexpr std::array kStrategies{StrategyKind::kModel, StrategyKind::kEvolve, StrategyKind::kRandom,
                                 StrategyKind::kExhaustive};
constexpr std::size_t kSeeds = 5;  // lots are drawn that often
constexpr double kCloseEnough = 0.02;

// One key's records: the times by plan.
struct Book {
  TuneKey key;
  std::vector<SearchPlan> plans;
  std::map<std::string, double> times;
  double best = 1e300;
};

std::vector<Book> booksOf(const std::vector<TuneRecord>& records) {
  std::map<std::string, Book> byKey;
  for (const TuneRecord& r : records) {
    if (r.status != TrialStatus::kMeasured || r.relative <= 0) continue;
    Book& book = byKey[problemIdentity(r.key.problem) + " " + toString(r.key.pass) + " " + r.key.machine + " " +
                       std::to_string(r.key.threads)];
    book.key = r.key;
    const auto [place, isNew] = book.times.emplace(planIdentity(r.plan), r.relative);
    if (isNew) book.plans.push_back({r.plan, r.cost});
    place->second = std::min(place->second, r.relative);
    book.best = std::min(book.best, r.relative);
  }
  std::vector<Book> books;
  for (auto& [key, book] : byKey) {
    if (book.plans.size() >= kFewestReplayed) books.push_back(std::move(book));
  }
  return books;
}

// The chip that a record of modelled cycles or of emulation is about, or the host: what a plan's decisions are depends on it.
Machine plannedMachine(const TuneKey& key, const Machine& host) {
  const std::string fingerprint = planningFingerprint(key.machine);
  for (const Machine& chip : knownMachines()) {
    if (fingerprint == machineFingerprint(chip)) return chip;
  }
  return host;
}

// Sums over runs.
struct Score {
  std::array<double, kReplayMarks.size()> logRegret{};
  double trialsToClose = 0;
};

void replay(const Book& book, StrategyKind kind, std::uint64_t seed, const std::vector<FitPoint>& others,
            const Machine& machine, Score& score) {
  const SearchSpace space = SearchSpace::among(book.key.problem, machine, book.plans);
  const auto strategy = makeStrategy(kind, space, seed, others);
  double best = 1e300;
  int trial = 0, close = 0;
  std::array<double, kReplayMarks.size()> at{};
  while (const auto plan = strategy->next()) {
    const double time = book.times.at(planIdentity(plan->plan));
    strategy->learn(*plan, time);
    best = std::min(best, time);
    ++trial;
    if (close == 0 && best <= book.best * (1 + kCloseEnough)) close = trial;
    for (std::size_t m = 0; m < kReplayMarks.size(); ++m) {
      if (trial <= kReplayMarks[m]) at[m] = std::log(best / book.best);
    }
  }
  for (std::size_t m = 0; m < kReplayMarks.size(); ++m) score.logRegret[m] += at[m];
  score.trialsToClose += close > 0 ? close : trial;
}

}  // namespace

Replays replayStrategies(const std::vector<TuneRecord>& records, const Machine& host) {
  const std::vector<Book> books = booksOf(records);
  Replays out;
  out.problems = books.size();
  if (books.empty()) return out;
  std::array<Score, kStrategies.size()> scores;
  for (const Book& book : books) {
    const std::vector<FitPoint> points = pointsOfOthers(records, book.key);
    const Machine machine = plannedMachine(book.key, host);
    for (std::size_t s = 0; s < kStrategies.size(); ++s) {
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
        replay(book, kStrategies[s], seed, points, machine, scores[s]);
    }
  }
  const auto runs = static_cast<double>(books.size() * kSeeds);
  for (std::size_t s = 0; s < kStrategies.size(); ++s) {
    Replays::Strategy strategy{kStrategies[s], {}, scores[s].trialsToClose / runs};
    for (std::size_t m = 0; m < kReplayMarks.size(); ++m)
      strategy.regret[m] = std::exp(scores[s].logRegret[m] / runs) - 1;
    out.strategies.push_back(strategy);
  }
  return out;
}

}  // namespace cubejit
