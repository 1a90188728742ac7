// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the steps of a search: the untuned plan first, then one challenger after the other against the best so far, at last
// the best once more against the untuned plan. No plan is recorded as a winner before that.
#include "runtime/tuning/autotune.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "runtime/host/cpu.h"
#include "runtime/tuning/contest.h"
#include "runtime/tuning/json_record.h"

namespace cubejit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostFailures = 3;        // in a row: the lab itself is broken
constexpr double kConfirmShare = 0.25;  // of the time allowed, kept for the last races
constexpr double kAny = std::numeric_limits<double>::infinity();

class Search {
 public:
  Search(const TuneSetup& setup, Lab& lab, const TuneWatch& watch)
      : setup_(setup), lab_(lab), watch_(watch), contest_(lab, setup.rules, watch.stop) {}

  Result<TuneOutcome> run() {
    if (tilesAreImitated() && setup_.machine.isa.matrixUnit() != nullptr)
      return Error{ErrorCode::kUnsupported, Stage::kRun, "tiles are imitated here, so times would mean nothing"};
    CUBEJIT_TRY(space, SearchSpace::of(setup_.key.problem, setup_.key.pass, setup_.machine, setup_.llvm));
    const auto strategy = makeStrategy(setup_.strategy, space, setup_.seed, setup_.otherPoints);
    CUBEJIT_RETURN_IF_ERROR(begin(space, *strategy));
    int failures = 0;
    while (!over()) {
      adopt(*strategy);
      const std::optional<SearchPlan> next = strategy->next();
      if (!next) {
        out_.exhausted = true;
        break;
      }
      const TuneRecord record = tryPlan(*next);
      strategy->learn(*next, record.relative > 0 ? std::optional<double>(record.relative) : std::nullopt);
      failures = record.status == TrialStatus::kFailed ? failures + 1 : 0;
      if (failures >= kMostFailures)
        return Error{ErrorCode::kLimitExceeded, Stage::kRun, "plans can no longer be tried: " + record.message};
    }
    finish();
    return out_;
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool over() {
    if (contest_.stopped()) {
      out_.interrupted = true;
      return true;
    }
    if (setup_.mostTrials > 0 && out_.tried >= setup_.mostTrials) return true;
    return setup_.mostSeconds > 0 && seconds() >= setup_.mostSeconds * (1 - kConfirmShare);
  }

  TuneRecord blank(const SearchPlan& plan) const {
    TuneRecord record;
    record.key = setup_.key;
    record.version = setup_.version;
    record.run = setup_.run;
    record.plan = plan.plan;
    record.cost = plan.cost;
    record.unixTime = static_cast<std::int64_t>(std::time(nullptr));
    return record;
  }

  void keep(const TuneRecord& record) {
    measured_[planIdentity(record.plan)] = record;
    contest_.know(record);
    if (watch_.keep) watch_.keep(record);
  }

  // The plan the planner would choose is what everything is compared with. One measured before keeps its record.
  Status begin(const SearchSpace& space, Strategy& strategy) {
    const SearchPlan& untuned = space.enumerated().front();
    LabReply reply = lab_.load(kUntuned, untuned.plan);
    untunedResults_ = reply.results;
    if (reply.ok()) reply = withCode(reply, lab_.verify(kUntuned));
    out_.untuned = blank(untuned);
    out_.untuned.untuned = out_.untuned.won = true;
    out_.untuned.code = reply.code;
    out_.untuned.status = reply.status;
    out_.untuned.message = reply.message;
    if (reply.ok()) {
      out_.untuned.verified = true;
      const LabReply times = lab_.sample({kUntuned}, setup_.rules.firstPairs + 2);
      out_.untuned.status = times.status;
      out_.untuned.message = times.message;
      if (times.ok()) out_.untuned.samplesNs = times.samplesNs.front();
      out_.untuned.relative = times.ok() ? 1 : 0;
    }
    if (out_.untuned.status != TrialStatus::kMeasured) {
      if (watch_.keep) watch_.keep(out_.untuned);
      return Error{out_.untuned.status == TrialStatus::kFailed ? ErrorCode::kLimitExceeded : ErrorCode::kInternal,
                   Stage::kRun,
                   std::string("the untuned plan of ") + toString(setup_.key.pass) + " is " +
                       toString(out_.untuned.status) + ": " + out_.untuned.message};
    }
    contest_.expect(medianNs(out_.untuned.samplesNs));
    strategy.learn(untuned, 1.0);
    out_.best = out_.untuned;
    bestNumber_ = kUntuned;
    for (const bool winners : {true, false}) {
      for (const TuneRecord& record : setup_.known) {
        if (record.won == winners) learnKnown(record, strategy);
      }
    }
    const auto earlier = measured_.find(planIdentity(untuned.plan));
    if (earlier != measured_.end() && earlier->second.untuned)
      out_.untuned.run = earlier->second.run;  // nothing is recorded twice
    else
      keep(out_.untuned);
    tell(out_.untuned);
    return Unit{};
  }

  // A plan that is not the untuned one. Where bits are not kept nobody has a digest of results.
  LabReply load(int number, const TilingPlan& plan) {
    LabReply reply = lab_.load(number, plan);
    if (!reply.ok() || reply.results == untunedResults_) return reply;
    reply.status = TrialStatus::kRefused;
    reply.message = "its results have other bits than those of the untuned plan";
    return reply;
  }

  static LabReply withCode(const LabReply& loaded, LabReply next) {
    next.code = loaded.code;
    return next;
  }

  // A record of an earlier run, or of a tuner that works beside this one. A better plan becomes the incumbent: unmeasured, but where
  // it was never confirmed and would take the place of another.
  void learnKnown(const TuneRecord& record, Strategy& strategy) {
    const std::string identity = planIdentity(record.plan);
    if (measured_.count(identity) != 0) return;
    if (!checkPlan(setup_.key.problem, record.plan, setup_.machine).empty()) return;
    measured_[identity] = record;
    ++out_.adopted;
    const SearchPlan plan{record.plan, planCost(setup_.key.problem, record.plan, setup_.machine)};
    const bool timed = record.status == TrialStatus::kMeasured && record.relative > 0;
    strategy.learn(plan, timed ? std::optional<double>(record.relative) : std::nullopt);
    if (timed) contest_.know(record);
    const bool leads = timed && record.verified && record.message.empty();  // and was not withdrawn
    if (!leads || record.relative >= out_.best.relative || record.untuned) return;
    const int number = nextNumber_++;
    const LabReply loaded = load(number, record.plan);
    const LabReply right = loaded.ok() ? lab_.verify(number) : loaded;  // a stranger's plan is believed only after that
    if (!right.ok()) {
      lab_.drop(number);
      if (right.status == TrialStatus::kWrong || (right.status == TrialStatus::kCrashed && !contest_.stopped()))
        withdraw(record, right.message);
      else
        measured_[identity].verified = false;  // what cannot be run here is not for this run to judge
      return;
    }
    const bool unsure = !record.won && bestNumber_ != kUntuned;
    if (unsure && contest_.race(bestNumber_, number).verdict != RaceVerdict::kFaster) return lab_.drop(number);
    replaceBest(number, record);
    contest_.expect(0);  // its samples are of another time
  }

  void adopt(Strategy& strategy) {
    if (!watch_.refresh || seconds() < nextRefresh_) return;
    nextRefresh_ = seconds() + 1;
    for (const TuneRecord& record : watch_.refresh()) learnKnown(record, strategy);
  }

  void replaceBest(int number, const TuneRecord& record) {
    if (bestNumber_ != kUntuned) lab_.drop(bestNumber_);
    bestNumber_ = number;
    out_.best = record;
  }

  TuneRecord tryPlan(const SearchPlan& plan) {
    const int number = nextNumber_++;
    TuneRecord record = blank(plan);
    contest_.attempt(record, load(number, plan.plan), bestNumber_, out_.best.relative, number);
    ++out_.tried;
    ++out_.byStatus[static_cast<int>(record.status)];
    if (record.verified) {
      replaceBest(number, record);
      contest_.expect(medianNs(record.samplesNs));
    } else {
      lab_.drop(number);
    }
    keep(record);
    tell(record);
    return record;
  }

  void tell(const TuneRecord& record) {
    if (!watch_.progress) return;
    TuneProgress now;
    now.trial = out_.tried;
    now.seconds = seconds();
    now.status = record.status;
    now.relative = record.relative;
    now.best = out_.best.relative;
    now.untunedNs = medianNs(out_.untuned.samplesNs);
    now.bestNs = static_cast<std::int64_t>(static_cast<double>(now.untunedNs) * now.best);
    watch_.progress(now);
  }

  bool confirm() {
    const auto confirmed = contest_.confirm(bestNumber_);
    if (!confirmed) return false;
    out_.best.won = true;
    out_.best.relative = confirmed->relative;
    out_.best.samplesNs = confirmed->samplesNs;
    out_.best.unixTime = static_cast<std::int64_t>(std::time(nullptr));
    keep(out_.best);
    return true;
  }

  void finish() {
    if (bestNumber_ != kUntuned && !out_.interrupted) {
      out_.confirmed = confirm();
      if (out_.confirmed)
        withdraw(out_.best.relative, "slower than a plan that was found later");
      else if (contest_.stopped())
        out_.interrupted = true;
      else
        withdraw(kAny, "not faster than the untuned plan when measured again");
    }
    if (!out_.confirmed) out_.best = believed();
    out_.seconds = seconds();
    out_.discarded = contest_.discarded();
    std::vector<FitPoint> points;
    for (const auto& [identity, record] : measured_) {
      if (record.status == TrialStatus::kMeasured)
        points.push_back({record.cost, planFamily(record.plan), record.relative, 0});
    }
    out_.model = rankModel(FittedCost(), points);
    out_.refitted = rankModel(FittedCost::fit(setup_.otherPoints, FittedCost::choosePrior(setup_.otherPoints)), points);
  }

  // This key's plans that lead and promise less time than that are believed no more; what was measured stays.
  void withdraw(double relative, const char* why) {
    for (const auto& [identity, record] : std::map<std::string, TuneRecord>(measured_)) {
      if (record.verified && !record.untuned && record.message.empty() && record.relative < relative)
        withdraw(record, why);
    }
  }
  void withdraw(TuneRecord record, const std::string& why) {
    record.won = false;
    record.message = why;
    record.unixTime = static_cast<std::int64_t>(std::time(nullptr));
    keep(record);
  }

  // What sessions use where this run confirmed nothing: the winner of an earlier one that still stands, or the untuned plan.
  TuneRecord believed() const {
    TuneRecord best = out_.untuned;
    for (const auto& [identity, record] : measured_) {
      if (record.won && record.verified && record.relative < best.relative) best = record;
    }
    return best;
  }

  const TuneSetup& setup_;
  Lab& lab_;
  const TuneWatch& watch_;
  Contest contest_;
  const Clock::time_point start_ = Clock::now();
  TuneOutcome out_;
  int bestNumber_ = kUntuned, nextNumber_ = 1;
  double nextRefresh_ = 0;
  std::map<std::string, TuneRecord> measured_;  ///< by the plan's identity
  std::string untunedResults_;
};

}  // namespace

Result<TuneOutcome> autotune(const TuneSetup& setup, Lab& lab, const TuneWatch& watch) {
  return Search(setup, lab, watch).run();
}

std::vector<FitPoint> fitPoints(const std::vector<TuneRecord>& records) {
  std::map<std::string, int> numbers;
  std::vector<FitPoint> points;
  for (const TuneRecord& record : records) {
    if (record.status != TrialStatus::kMeasured || record.relative <= 0) continue;
    const std::string key = problemIdentity(record.key.problem) + toString(record.key.pass) +
                            std::to_string(record.key.threads) + record.key.machine;
    const int number = numbers.emplace(key, static_cast<int>(numbers.size())).first->second;
    points.push_back({record.cost, planFamily(record.plan), record.relative, number});
  }
  return points;
}

std::vector<FitPoint> pointsOfOthers(const std::vector<TuneRecord>& records, const TuneKey& key) {
  std::vector<TuneRecord> others;
  for (const TuneRecord& r : records) {
    if (!(r.key.problem == key.problem) && r.key.machine == key.machine && r.key.pass == key.pass) others.push_back(r);
  }
  return fitPoints(others);
}

}  // namespace cubejit
