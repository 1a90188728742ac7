// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which candidate wins.
#include "algorithms/cube/planner.h"

#include <algorithm>
#include <limits>
#include <map>

#include "algorithms/cube/rules.h"

namespace cubejit {
namespace {

constexpr std::size_t kShown = 10, kMostRules = 12;

// Rules differ in their values; the words before the first number tell them apart.
std::string kindOfRule(const std::string& rule) { return rule.substr(0, rule.find_first_of("0123456789(")); }

// Where memory sets the time, the plan that keeps the cores least busy is the better one.
bool cheaper(const CubeCost& a, const CubeCost& b) {
  return a.totalCycles != b.totalCycles ? a.totalCycles < b.totalCycles : a.slowestCore < b.slowestCore;
}

class Ranking {
 public:
  Ranking(const CubeWork& w, const Machine& m, bool explain) : w_(w), m_(m), shown_(explain ? kShown : 1) {}

  void consider(const TilingPlan& plan) {
    const std::vector<std::string> broken = checkCubePlan(w_, plan, m_);
    if (!broken.empty()) {
      ++choice_.refused;
      for (const std::string& rule : broken) {
        if (rules_.size() < kMostRules) rules_.emplace(kindOfRule(rule), rule);
      }
      return;
    }
    ++choice_.legal;
    const CubeCost cost = cubeCost(w_, plan, m_, limit_);
    if (!cost.exact || cost.totalCycles > limit_) return;
    const auto at = std::upper_bound(kept_.begin(), kept_.end(), cost,
                                     [](const CubeCost& a, const CubeCandidate& b) { return cheaper(a, b.cost); });
    kept_.insert(at, CubeCandidate{plan, cost});
    if (kept_.size() > shown_) kept_.pop_back();
    if (kept_.size() == shown_) limit_ = kept_.back().cost.totalCycles;
  }

  /// Whether a plan that takes at least this may be among the best. Where memory sets the time, the busiest core decides.
  bool mayWin(const LeastCost& least) const {
    if (kept_.size() < shown_) return true;
    const CubeCost& last = kept_.back().cost;
    constexpr double kRounding = 1 - 1e-9;  // of sums in different orders
    if (least.memory > last.totalCycles) return false;
    return least.total() < last.totalCycles * kRounding || least.core < last.slowestCore * kRounding;
  }

  Result<CubeChoice> take() {
    for (const auto& [kind, rule] : rules_) choice_.refusedBy.push_back(rule);
    if (kept_.empty()) {
      std::string message = std::string("no legal plan for ") + toString(w_.pass) + " of this problem on " + m_.name;
      for (const std::string& rule : choice_.refusedBy) message += "\n" + rule;
      return Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan, message};
    }
    choice_.plan = kept_.front().plan;
    choice_.cost = kept_.front().cost;
    if (shown_ > 1) choice_.best = std::move(kept_);
    return std::move(choice_);
  }

 private:
  const CubeWork& w_;
  const Machine& m_;
  const std::size_t shown_;  // as many of the best are kept
  double limit_ = std::numeric_limits<double>::infinity();
  CubeChoice choice_;
  std::vector<CubeCandidate> kept_;
  std::map<std::string, std::string> rules_;
};

}  // namespace

Result<CubeChoice> chooseCubePlan(const CubeWork& w, const Machine& m, bool explain, const CubeFixed& fixed) {
  Ranking ranking(w, m, explain);
  visitCubeCandidates(
      w, m, fixed, [&](const TilingPlan& plan) { ranking.consider(plan); },
      [&](const LeastCost& least) { return ranking.mayWin(least); });
  return ranking.take();
}

}  // namespace cubejit
